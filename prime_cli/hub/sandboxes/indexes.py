"""The package indexes of this machine's user, as a sandbox reaches them.

Credentials in addresses stay here: who runs code inside could read them.
"""

import configparser
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

_PYPI = ("pypi.org:443", "files.pythonhosted.org:443")
_ONE = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_MANY = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_FIND_LINKS")
_FILES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PORTS = {"https": 443, "http": 80}
_BESIDE = re.compile(r"""href=["']\.\./\.\./([\w.-]+)/""", re.ASCII)
_PAGES, _PAGE_BYTES = 8, 64 * 1024
"""Of an index that are read."""


@dataclass(frozen=True)
class Indexes:
    """`hosts` as `host:port`, folders of this machine, and the variables that lead there."""

    hosts: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def find_indexes(environ: Mapping[str, str] | None = None) -> Indexes:
    """Those that uv's and pip's variables name and pip's configuration, and PyPI otherwise."""
    environ = os.environ if environ is None else environ
    hosts: dict[str, None] = {}
    folders: dict[str, None] = {}
    variables: dict[str, str] = {}
    settings = {**_pip_settings(environ), **{k: v for k, v in environ.items() if v}}
    for name in (*_ONE, *_MANY):
        if name not in settings:
            continue
        words = [_plain(each) for each in settings[name].replace(",", " ").split()]
        for word in words:
            _add(word, hosts, folders)
        variables[name] = " ".join(words)
    for name in _FILES:
        if Path(settings.get(name, "")).is_file():
            folders[settings[name]] = None
            variables[name] = settings[name]
    if not any(name in variables for name in _ONE):
        hosts |= dict.fromkeys(_PYPI)
    return Indexes(tuple(hosts), tuple(folders), variables)


def _add(word: str, hosts: dict[str, None], folders: dict[str, None]) -> None:
    url = word.partition("=")[2] if "=" in word.partition("://")[0] else word
    parts = urlsplit(url)
    if parts.scheme in _PORTS and parts.hostname:
        hosts[f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"] = None
        if parts.hostname == "pypi.org":
            hosts |= dict.fromkeys(_PYPI)
        return
    path = Path(unquote(parts.path)) if parts.scheme == "file" else Path(url)
    if path.is_absolute() and path.is_dir():
        folders |= dict.fromkeys([str(path), *_linked_folders(path, path.stat().st_mtime)])


@lru_cache(maxsize=64)
def _linked_folders(index: Path, _changed: float) -> list[str]:
    """Folders beside an index of PEP 503 in which a mirror has the files that its pages link to.

    It is read again once packages were added to it.
    """
    found: dict[str, None] = {}
    for page in islice(index.glob("*/index.html"), _PAGES):
        with suppress(OSError):
            text = page.read_bytes()[:_PAGE_BYTES].decode(errors="replace")
            for link in _BESIDE.findall(text):
                # Nothing of a page leads out of the folder that the index is in.
                if link not in (".", "..") and (index.parent / link).is_dir():
                    found[str(index.parent / link)] = None
    return list(found)


def _plain(word: str) -> str:
    """An address without its user and password."""
    parts = urlsplit(word)
    if "@" not in parts.netloc:
        return word
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What pip's configuration files say, under the names of the variables."""
    found: dict[str, str] = {}
    for path in _pip_files(environ):
        with suppress(OSError):
            status = path.stat()
            found |= _read_pip_file(path, (status.st_ctime_ns, status.st_size))
    return found


@lru_cache(maxsize=64)
def _read_pip_file(path: Path, _changed: tuple[int, int]) -> Mapping[str, str]:
    """What one says; every sandbox asks for it, and it seldom changes."""
    parser = configparser.RawConfigParser()
    with suppress(OSError, configparser.Error, UnicodeDecodeError):
        parser.read(path, encoding="utf-8")
    sections = [name for name in ("global", "install") if parser.has_section(name)]
    pairs = (pair for name in sections for pair in parser.items(name))
    named = {f"PIP_{key.upper().replace('-', '_')}": value for key, value in pairs}
    return {name: named[name] for name in (*_ONE, *_MANY, *_FILES) if name in named}


def _pip_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """In pip's order: what is later counts."""
    if environ.get("PIP_CONFIG_FILE") == os.devnull:
        return
    yield Path("/etc/pip.conf")
    with suppress(RuntimeError):
        home = Path.home()
        yield home / ".pip" / "pip.conf"
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    if environ.get("PIP_CONFIG_FILE"):
        yield Path(environ["PIP_CONFIG_FILE"])
