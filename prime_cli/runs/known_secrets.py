"""Which values must not be found in what a run leaves behind."""

from collections.abc import Mapping
from itertools import count
from urllib.parse import unquote, urlsplit

from prime_cli.core.secret_detection import extract_credentials, find_secrets
from prime_cli.models.endpoints import Endpoint, is_secret_parameter
from prime_cli.models.providers import Secret
from prime_cli.models.registry import Registry
from prime_cli.runtime.variables import is_secret

_LONG = 16
"""A shorter value that was allowed under an ordinary name may be a word, as `strict`."""
_SECRET_HEADERS = ("authorization", "key", "token", "cookie", "secret")


def secrets_of(
    endpoint: Endpoint,
    environ: Mapping[str, str],
    passed: Mapping[str, str],
    registry: Registry | None = None,
) -> dict[str, str]:
    """Every secret value that a file of the run could come to hold, by the name to put there.

    `passed` are variables that the environment was allowed by name, which are secrets unless they
    are words; its judges may be entries of `registry`.
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
    found: dict[str, str], url: str, key: Secret | None, headers: Mapping[str, str]
) -> None:
    """Add what is secret of one endpoint."""
    _add(found, "MODEL_KEY", {key.reveal()} if key is not None else set())
    _add(found, "password", _passwords_in(url))
    _add(found, "query", _keys_in_query(url))
    for header, value in headers.items():
        if any(word in header.lower() for word in _SECRET_HEADERS):
            # Whoever says it back may leave out the scheme, as in `Bearer …`.
            _add(found, f"{header} header", {value, value.rpartition(" ")[2]})


def _add(found: dict[str, str], name: str, values: set[str]) -> None:
    """Add what has no name yet, under `name` or a numbered one."""
    for value in sorted(values.difference(found.values())):
        numbered = (name if number == 1 else f"{name} {number}" for number in count(1))
        found[next(free for free in numbered if free not in found)] = value


def _keys_in_query(url: str) -> set[str]:
    """Values behind the `?` of an address whose names say that they are secret."""
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
    """The password in an address, as it is written there and as it is meant."""
    try:
        password = urlsplit(url).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
