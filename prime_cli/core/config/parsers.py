"""Parsers of setting values: each turns text into a value, or raises UsageError.

`source` says where the text was found, for messages.
"""

import re
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from prime_cli.core.errors import UsageError
from prime_cli.core.refs import slugify

_PRINTABLE = re.compile(r"[\x21-\x7e]+")


def parse_hub_url(text: str, source: str) -> str:
    """The hub's address: no trailing slash, no trailing `/api/v1`; `source` names it in messages.

    Raises UsageError for anything but a full http or https URL, and for one with a username or
    password: it would be printed, and sent in place of the key.
    """
    url = split_url(text.strip())
    if url is None or url.query or url.fragment:
        raise UsageError(
            f"{source} is `{text}`, which is not the URL of a hub",
            hint="write `https://HOST` or `http://HOST:PORT`",
        )
    if "@" in url.netloc:
        raise UsageError(
            f"{source} contains a name or a password",
            hint="omit it; save a key with `prime login --hub URL --token-stdin`",
        )
    return normalize_hub_url(f"{url.scheme}://{url.netloc.lower()}{url.path}")


def normalize_hub_url(url: str) -> str:
    """The URL as the official client reads it: no trailing slash, no trailing `/api/v1`."""
    return url.rstrip("/").removesuffix("/api/v1").rstrip("/")


def split_url(text: str) -> SplitResult | None:
    """The parts of an http or https URL; None if it is incomplete.

    Also None for what parsers disagree on: blanks, backslashes, characters beyond ASCII.
    """
    if not _PRINTABLE.fullmatch(text) or "\\" in text:
        return None
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        return None
    return url if url.hostname and url.scheme in ("http", "https") else None


STARTER_OWNER = "starter"
"""Owner of the bundled environments; always on the local hub."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def text(word: str, source: str) -> str:
    """Any single-line text."""
    if not word.isprintable():
        raise UsageError(f"{source} has unprintable characters")
    return word


def text_or_none(word: str, source: str) -> str | None:
    """Any single-line text; None for `none`."""
    return None if word.lower() == "none" else text(word, source)


def boolean(word: str, source: str) -> bool:
    """`true` or `false`, `1` or `0`, `yes` or `no`, `on` or `off`."""
    if word.lower() in _TRUE:
        return True
    if word.lower() in _FALSE:
        return False
    raise UsageError(f"{source} cannot be `{word}`", hint="write `true` or `false`")


def owner(name: str, source: str) -> str:
    """An owner's name, as on a hub."""
    slug = slugify(name)
    if slug != name:
        raise UsageError(f"`{name}` ({source}) is not an owner name", hint=f"write `{slug}`")
    if name == STARTER_OWNER:
        raise UsageError(
            f"`{name}` ({source}) is the owner of the built-in environments", hint="choose another"
        )
    return name


def url_or_none(word: str, source: str) -> str | None:
    """The address of a hub; None for `none`."""
    return None if word.lower() == "none" else parse_hub_url(word, source)


def names(words: str, source: str) -> tuple[str, ...]:
    """Comma-separated names."""
    return tuple(text(word.strip(), source) for word in words.split(",") if word.strip())


def variables(words: str, source: str) -> tuple[str, ...]:
    """Comma-separated names of variables."""
    found = names(words, source)
    for name in found:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(
                f"{source} is not a variable name: `{name[:40]}`", hint="write names without values"
            )
    return found


def one_of(*choices: str) -> Callable[[str, str], str]:
    """One of these words."""

    def check(word: str, source: str) -> str:
        if word.lower() not in choices:
            listed = ", ".join(f"`{choice}`" for choice in choices)
            raise UsageError(f"{source} is `{word}`", hint=f"choose one of {listed}")
        return word.lower()

    return check
