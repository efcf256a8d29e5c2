"""Read a pyproject.toml; every complaint names the file, and the line where there is one."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import BadProject

FILENAME = "pyproject.toml"

_TOML_LINE = re.compile(r"\(?at line (\d+), column (\d+)\)?")


def read_pyproject(file: Path) -> dict[str, Any]:
    """The parsed pyproject.toml; raises BadProject with file and line."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise BadProject(
            f"There is no {FILENAME} in {file.parent}",
            hint="start an environment with `prime env init NAME`, or name its folder",
        ) from error
    except OSError as error:
        raise BadProject(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadProject(f"{file} is not UTF-8, as TOML must be") from error
    except tomllib.TOMLDecodeError as error:
        place = _TOML_LINE.search(str(error))
        reason = _TOML_LINE.sub("", str(error)).strip().rstrip(".")
        where = f"{file}:{place[1]}:{place[2]}" if place else str(file)
        raise BadProject(f"{where}: {reason}", hint="correct this line of TOML") from error


def get_table(parent: Mapping[str, Any], key: str, file: Path) -> Mapping[str, Any]:
    """The table under `key`, or an empty one."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise BadProject(f"`{key}` in {file} must be a table")
    return value


def get_text(table: Mapping[str, Any], key: str, file: Path) -> str | None:
    """The text under `key`, or None."""
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise BadProject(f"`{key}` in {file} must be text")
    return value


def get_texts(table: Mapping[str, Any], key: str, file: Path) -> tuple[str, ...]:
    """The list of texts under `key`, or an empty one."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadProject(f"`{key}` in {file} must be a list of texts")
    return tuple(value)
