"""Variables that the user gives to an environment: `--env-var`, `--env-file`."""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.planning.request import parse_names

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class GivenVariables:
    """The `names` that the environment may read, and `values` of those that came with one."""

    names: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)


def given_variables(words: Iterable[str], file: Path | None = None) -> GivenVariables:
    """What `--env-var NAME,…`, `--env-var NAME=VALUE` and `--env-file FILE` give; the words win.

    Raises UsageError for what names no variable, NotFound and StorageFailed for the file.
    """
    found = {} if file is None else read_env_file(file)
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            found[_checked(name.strip(), "--env-var")] = value
        else:
            found.update((_checked(each, "--env-var"), None) for each in parse_names([word]))
    values = {name: value for name, value in found.items() if value is not None}
    return GivenVariables(tuple(found), values)


def with_always_allowed(
    named: tuple[str, ...], allowed: Iterable[str], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """`named`, and what config.toml allows for good of what is set in `environ`."""
    return tuple(dict.fromkeys((*named, *(name for name in allowed if name in environ))))


def read_env_file(path: Path) -> dict[str, str | None]:
    """The assignments of a .env file; a name alone stands for the variable that is set here.

    Raises NotFound, StorageFailed, and UsageError with the line that is no assignment.
    """
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    if not path.is_file():
        raise NotFound(f"There is no file {path}", hint="name a file of lines `NAME=VALUE`")
    with storage_errors(path):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            raise UsageError(f"{path} has no assignment in line {binding.original.line}")
        if binding.key is not None:
            _checked(binding.key, str(path))
    return dict(dotenv_values(stream=io.StringIO(text)))


def _checked(name: str, source: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{source}` does not name a variable",
            hint="write `NAME` or `NAME=VALUE`, the name with letters, digits and `_`",
        )
    return name
