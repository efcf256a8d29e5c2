"""What the values of settings may be: each makes a value of a text, or raises UsageError.

`source` names where the text was found, as a message has it.
"""

import re
from collections.abc import Callable

from prime_cli.core.config.addresses import hub_address
from prime_cli.core.errors import UsageError
from prime_cli.core.refs import slugify

STARTER_OWNER = "starter"
"""Owner of the environments that come with prime; always on the local hub."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def text(word: str, source: str) -> str:
    """Any text on one line."""
    if not word.isprintable():
        raise UsageError(f"{source} has characters that cannot be shown")
    return word


def text_or_none(word: str, source: str) -> str | None:
    """Any text on one line; None for `none`."""
    return None if word.lower() == "none" else text(word, source)


def yes_or_no(word: str, source: str) -> bool:
    """`true` or `false`, `1` or `0`, `yes` or `no`, `on` or `off`."""
    if word.lower() in _TRUE:
        return True
    if word.lower() in _FALSE:
        return False
    raise UsageError(f"{source} is `{word}`", hint="write `true` or `false`")


def owner(name: str, source: str) -> str:
    """The name of an owner, as it is on a hub."""
    slug = slugify(name)
    if slug != name:
        raise UsageError(f"`{name}` ({source}) is not an owner name", hint=f"write `{slug}`")
    if name == STARTER_OWNER:
        raise UsageError(
            f"`{name}` ({source}) is the owner of the built-in environments", hint="choose another"
        )
    return name


def address_or_none(word: str, source: str) -> str | None:
    """The address of a hub; None for `none`."""
    return None if word.lower() == "none" else hub_address(word, source)


def names(words: str, source: str) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(text(word.strip(), source) for word in words.split(",") if word.strip())


def variables(words: str, source: str) -> tuple[str, ...]:
    """Names of variables with commas between."""
    found = names(words, source)
    for name in found:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(
                f"{source} names no variable: `{name[:40]}`", hint="write names, and no values"
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
