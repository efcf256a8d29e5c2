"""Proxies and certificates, as prime (httpx) and uv take them from the variables.

https://www.python-httpx.org/environment_variables/, https://docs.astral.sh/uv/reference/environment/.
"""

import ssl
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from prime_cli.doctor.base import Finding, System, failed, ok, warned

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOOPBACK = ("localhost", "127.0.0.1")
_NOT_READ = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_SCHEMES = ("http", "https", "socks5", "socks5h")


def check_network(system: System) -> list[Finding]:
    """One finding for proxies, one for certificates; passwords of proxies are not shown."""
    return [judge_proxies(system.environ), judge_certificates(system.environ)]


def judge_proxies(environ: Mapping[str, str]) -> Finding:
    """Whether the proxies can be used, and leave this machine's own servers alone."""
    proxies = {name: value for name in _PROXIES if (value := _either(environ, name))}
    if not proxies:
        return ok("proxy", "None is set")
    for name in (*_PROXIES, "NO_PROXY"):
        upper, lower = environ.get(name), environ.get(name.lower())
        if upper and lower and upper != lower:
            # httpx takes the lower-case one, uv the other.
            sentence = f"{name} and {name.lower()} differ, and prime and uv each take another"
            return warned("proxy", sentence, f"`unset {name.lower()}`")
    for name, value in proxies.items():
        if trouble := _trouble(name, value):
            return trouble
    shown = ", ".join(f"{name} is {_shown(value)}" for name, value in proxies.items())
    if left := [host for host in _LOOPBACK if not _is_exempt(host, environ)]:
        return warned(
            "proxy",
            f"{shown}, and would be asked for {' and '.join(left)} too",
            f"`export NO_PROXY={','.join([*_given(environ), *left])}`",
        )
    return ok("proxy", f"{shown}; not for this machine itself")


def judge_certificates(environ: Mapping[str, str]) -> Finding:
    """Whether the authorities that are named can be read."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file:
        return _judge_file(file)
    if folder:
        if not Path(folder).is_dir():
            return failed("certificates", f"SSL_CERT_DIR is {folder}, no folder", "correct it")
        return ok("certificates", f"The authorities in {folder} (SSL_CERT_DIR)")
    other = next((name for name in _NOT_READ if environ.get(name)), None)
    if other is not None:
        sentence = f"{other} is set, which neither prime nor uv reads"
        return warned("certificates", sentence, f'`export SSL_CERT_FILE="${other}"`')
    return ok("certificates", "The usual authorities")


def _judge_file(file: str) -> Finding:
    name = "certificates"
    try:
        context = ssl.create_default_context(cafile=file)
    except ssl.SSLError as error:
        sentence = f"SSL_CERT_FILE ({file}) holds no certificates: {error.reason or error}"
        return failed(name, sentence, "name a PEM file, or `unset SSL_CERT_FILE`")
    except OSError as error:
        sentence = f"SSL_CERT_FILE ({file}) cannot be read: {error.strerror}"
        return failed(name, sentence, "correct the path, or `unset SSL_CERT_FILE`")
    count = len(context.get_ca_certs())
    return ok(name, f"{count} authorities, those in {file} (SSL_CERT_FILE)")


def _trouble(name: str, value: str) -> Finding | None:
    parts = _split(value)
    if parts is None or not parts.hostname or parts.scheme not in _SCHEMES:
        sentence = f"{name} is no address of a proxy"
        return failed("proxy", sentence, f"write it as `{name}=http://host:port`, or unset it")
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        sentence = f"{name} names a SOCKS proxy, which prime cannot use as it is"
        return failed("proxy", sentence, "`pip install 'httpx[socks]'`")
    return None


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.lower()) or environ.get(name) or ""


def _split(value: str) -> SplitResult | None:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        _ = parts.port
    except ValueError:
        return None
    return parts


def _shown(value: str) -> str:
    parts = _split(value)
    host = parts.hostname if parts else None
    return f"{host}:{parts.port}" if parts and parts.port else str(host)


def _given(environ: Mapping[str, str]) -> list[str]:
    return [word for word in _either(environ, "NO_PROXY").replace(" ", "").split(",") if word]


def _is_exempt(host: str, environ: Mapping[str, str]) -> bool:
    return any(word in ("*", host) for word in _given(environ))
