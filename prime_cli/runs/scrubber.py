"""Secret values of a run: what they are, and how to keep them out of its files."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from urllib.parse import quote, quote_plus, unquote, urlsplit

from prime_cli.core.secret_detection import extract_credentials, find_secrets
from prime_cli.models.endpoints import Endpoint, is_secret_parameter
from prime_cli.models.providers import EndpointSecret
from prime_cli.models.registry import Registry
from prime_cli.runtime.variables import is_secret

_SHORTEST = 6
"""Shorter values (`x`, `EMPTY`, `0`) are placeholders; replacing them would spoil the text."""
_SHORTEST_LINE = 16
"""Shorter lines of a multi-line value are words (`-----`), not keys."""


class Scrubber:
    """Replaces each secret value by `[NAME]`, in every form that programs print it in.

    These are the value itself, as written by JSON (also nested in JSON text) and by Python, in an
    address, and each line of a multi-line one. Other encodings of a value, such as base64, are not
    recognised.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        pairs = {
            form.encode("utf-8", "surrogateescape"): f"[{name}]".encode()
            for name, value in secrets.items()
            for form in _forms(value)
        }
        # Longest first: a key may contain another one.
        self._pairs = sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True)

    def __call__(self, content: bytes) -> bytes:
        for value, mark in self._pairs:
            if value in content:
                content = content.replace(value, mark)
        return content

    def text(self, content: str) -> str:
        """The same for text that goes to the terminal."""
        return self(content.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _forms(value: str) -> Iterator[str]:
    """How a secret may be written; nothing for a placeholder."""
    # Clients strip the trailing newline of a file.
    for part in (value, value.strip(), *_long_lines(value)):
        if len(part) < _SHORTEST:
            continue
        yield part
        yield repr(part)[1:-1]
        yield quote(part, errors="surrogateescape")
        yield quote(part, safe="", errors="surrogateescape")
        yield quote_plus(part, errors="surrogateescape")
        for written in (json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]):
            yield written
            yield json.dumps(written)[1:-1]


def _long_lines(value: str) -> Iterator[str]:
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE)


_LONG = 16
"""A shorter value, allowed under an ordinary name, may be a word, as `strict`."""
_SECRET_HEADERS = ("authorization", "key", "token", "cookie", "secret")


def secrets_of(
    endpoint: Endpoint,
    environ: Mapping[str, str],
    passed: Mapping[str, str],
    registry: Registry | None = None,
) -> dict[str, str]:
    """Every secret value that a file of the run could contain, by its replacement.

    `passed` are variables allowed to the environment by name, which are secrets unless they are
    words; its judges may be entries of `registry`.
    """
    found = find_secrets(environ)
    found.update(
        (name, value)
        for name, value in passed.items()
        if is_secret(name, value) or len(value) >= _LONG
    )
    for name in sorted(environ.keys() - found.keys()):
        _add(found, name, extract_credentials(environ[name]))
    for member in endpoint.group:
        _add_called(found, member.address, member.key, member.headers)
    for entry in registry.entries if registry is not None else ():
        _add_called(found, entry.url, entry.key.find(environ), entry.headers)
    return found


def _add_called(
    found: dict[str, str], url: str, key: EndpointSecret | None, headers: Mapping[str, str]
) -> None:
    """Add the secret parts of one endpoint."""
    _add(found, "MODEL_KEY", {key.reveal()} if key is not None else set())
    _add(found, "password", _passwords_in(url))
    _add(found, "query", _keys_in_query(url))
    for header, value in headers.items():
        if any(word in header.lower() for word in _SECRET_HEADERS):
            # An echo may leave out the scheme, as in `Bearer …`.
            _add(found, f"{header} header", {value, value.rpartition(" ")[2]})


def _add(found: dict[str, str], name: str, values: set[str]) -> None:
    """Add values without a name yet, under `name` or a numbered one."""
    for value in sorted(values.difference(found.values())):
        numbered = (name if number == 1 else f"{name} {number}" for number in count(1))
        found[next(free for free in numbered if free not in found)] = value


def _keys_in_query(url: str) -> set[str]:
    """Query values of a URL whose names mark them as secret."""
    _, _, query = url.partition("?")
    return {
        form
        for part in query.partition("#")[0].split("&")
        for name, _, value in [part.partition("=")]
        if is_secret_parameter(name)
        for form in (value, unquote(value))
        if form
    }


def _passwords_in(url: str) -> set[str]:
    """The password in a URL, both as written and decoded."""
    try:
        password = urlsplit(url).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
