"""One value and its source, and how values are read from config.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from prime_cli.core.errors import StorageFailed, UsageError

T = TypeVar("T")

DEFAULT = "default"


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One value and where it came from: a flag, a variable, a file, or `default`.

    `shadows` is what config.toml says, where a flag or a variable was nearer.
    """

    name: str
    value: T
    source: str
    shadows: str | None = None


def read_table(file: Path) -> dict[str, Any]:
    """What config.toml holds, {} if there is none; raises UsageError where it is not TOML."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageFailed(f"{file} cannot be read: {error.strerror}") from error
    try:
        # Windows' editors put a mark before the first word.
        return tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} is not valid TOML: {error}", hint="correct the file, or move it away"
        ) from error


def read_text(table: dict[str, Any], key: str, file: Path) -> str | None:
    """The text at `key`, None if there is none; raises UsageError for anything else."""
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} in {file} must be text")
    return value
