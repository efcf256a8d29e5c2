"""The way to other machines: proxies and certificates, the same for hubs, models and uv.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in lower case come before those in upper
case, and both before the system's settings, as in urllib. This machine is reached directly.
"""

import os
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from prime_cli.core.errors import Unreachable, UsageError
from prime_cli.core.http import is_loopback
from prime_cli.core.installation import require

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
SCHEMES = ("http", "https", "socks5", "socks5h")
_DIRECT = ("localhost", "127.0.0.1", "::1")


def proxy_for(url: str) -> str | None:
    """The URL of the proxy to `url`; None if it is reached directly.

    Raises UsageError for a proxy that is not a URL, or needs the extra `socks`.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    where = host if parts.port is None else f"{host}:{parts.port}"
    if is_loopback(url) or urllib.request.proxy_bypass(where):
        return None
    found = urllib.request.getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    return check_proxy(variable_of(proxy), proxy) if proxy else None


def check_proxy(name: str, value: str) -> str:
    """`value` with a scheme; raises UsageError, with the name of its variable."""
    url = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) and parts.scheme in SCHEMES and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise UsageError(
            f"{name} is not a proxy URL", hint=f"write it as `{name}=http://host:port`, or unset it"
        )
    if is_socks(url):
        require("socks", f"The SOCKS proxy of {name}", "socksio", "aiohttp_socks")
    return url


def is_socks(proxy: str) -> bool:
    """Whether a checked proxy speaks SOCKS."""
    return proxy.startswith("socks")


def variable_of(proxy: str) -> str:
    """The variable that names a proxy, which may be the system's."""
    names = (spelt for name in PROXIES for spelt in (name.lower(), name))
    held = (name for name in names if os.environ.get(name) and os.environ[name] in proxy)
    return next(held, "the system's proxy")


def proxy_failure(url: str, why: object) -> Unreachable | None:
    """The error of a request to `url` that its proxy did not let through; None without a proxy."""
    proxy = proxy_for(url)
    if proxy is None:
        return None
    parts, host = urlsplit(proxy), urlsplit(url).hostname
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return Unreachable(
        f"The proxy {shown} cannot be used to call {host}: {why}",
        hint=f"correct {variable_of(proxy)}, or call the host without it: `export NO_PROXY={host}`",
    )


def without_proxy_here(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables with which another program, such as uv, goes the same ways.

    uv prefers upper case, and takes the proxy for this machine, too.
    """
    found = dict(environ)
    for name in (*PROXIES, "NO_PROXY"):
        if name.lower() in found:
            found[name] = found[name.lower()]
    if any(found.get(name) for name in PROXIES):
        given = [word for word in found.get("NO_PROXY", "").split(",") if word.strip()]
        exempt = ",".join(dict.fromkeys([*_DIRECT, *given]))
        found |= {"NO_PROXY": exempt, "no_proxy": exempt}
    return found


def load_certificates() -> ssl.SSLContext:
    """The authorities of SSL_CERT_FILE and SSL_CERT_DIR, else the system's and Mozilla's.

    Raises UsageError for a variable that names none.
    """
    check_certificates(os.environ)
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def check_certificates(environ: Mapping[str, str]) -> None:
    """Raise UsageError for SSL_CERT_FILE or SSL_CERT_DIR if it names no certificates."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if folder and not Path(folder).is_dir():
        raise UsageError(
            f"SSL_CERT_DIR ({folder}) is not a folder",
            hint="fix the path, or `unset SSL_CERT_DIR`",
        )
    if not file:
        return
    try:
        ssl.create_default_context(cafile=file)
    except ssl.SSLError as error:
        raise UsageError(
            f"SSL_CERT_FILE ({file}) contains no certificates: {error.reason or error}",
            hint="use a PEM file, or `unset SSL_CERT_FILE`",
        ) from error
    except OSError as error:
        raise UsageError(
            f"SSL_CERT_FILE ({file}) cannot be read: {error.strerror}",
            hint="fix the path, or `unset SSL_CERT_FILE`",
        ) from error
