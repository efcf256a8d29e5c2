"""Which environment variables hold credentials, told by their names and by addresses."""

from collections.abc import Mapping
from urllib.parse import urlsplit

_ENDINGS = ("_KEY", "_KEY_ID", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PAT")
_WHOLE = ("PASSWORD", "PGPASSWORD", "TOKEN", "SECRET")
_OURS = "PRIME_HUB_"
"""Only `prime hub serve` reads these, and a database's address among them may be a secret."""
_PROXY = "_PROXY"

_ALWAYS = ("OPENAI_API_KEY", "PRIME_API_KEY")
_LONG = 16
"""A shorter value of another variable may be a word, which would be missed everywhere."""

INDEX_PREFIXES = ("UV_", "PIP_", "AWS_", "GIT_", "GH_", "GITHUB_", "GITLAB_", "CI_JOB_")
"""Credentials of package indexes, buckets and git servers, which installers log in with."""


def names_a_secret(name: str) -> bool:
    """Whether a variable of this name holds a credential by all custom, as OPENAI_API_KEY does."""
    upper = name.upper()
    return upper.endswith(_ENDINGS) or upper in _WHOLE


def secrets_among(environ: Mapping[str, str]) -> dict[str, str]:
    """The values that must never be told, by the names of their variables."""
    return {
        name: value
        for name, value in environ.items()
        if name in _ALWAYS or (names_a_secret(name) and len(value) >= _LONG)
    }


def without_secrets(environ: Mapping[str, str], *, keep: tuple[str, ...] = ()) -> dict[str, str]:
    """`environ` without variables that hold a credential; those that begin with `keep` stay.

    Addresses with a password in them go too, except those of proxies, without which there may be
    no network.
    """
    return {
        name: value
        for name, value in environ.items()
        if name.upper().startswith(keep) or not _is_secret(name, value)
    }


def _is_secret(name: str, value: str) -> bool:
    upper = name.upper()
    if names_a_secret(name) or upper.startswith(_OURS):
        return True
    return not upper.endswith(_PROXY) and _has_password(value)


def _has_password(value: str) -> bool:
    if "://" not in value or "@" not in value:
        return False
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return False
