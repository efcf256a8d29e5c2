"""Words as ssh reads them in its files and behind `-o` (ssh_config(5))."""

import sys
from pathlib import Path

from prime_cli.core.errors import UsageError

_WITHOUT_QUOTES = frozenset("/._-+=@:,~%")


def path_word(path: Path) -> str:
    """The name of a file, quoted where needed; ssh's own `%` tokens and blanks mean themselves.

    Raises UsageError for a name that cannot be written there: with `"`, `${`, a line break.
    """
    # Windows' ssh takes `/` too, and `\\` would be read as the beginning of an escape.
    text = path.absolute().as_posix() if sys.platform == "win32" else str(path.absolute())
    if not text.isprintable() or '"' in text or "${" in text or "\\" in text:
        raise UsageError(
            f"ssh cannot be told of the file {text!r}",
            hint="move it to a name without quotes, `\\`, `${` and line breaks",
        )
    text = text.replace("%", "%%")
    plain = all(each.isalnum() or each in _WITHOUT_QUOTES for each in text)
    return text if plain else f'"{text}"'
