"""The official client's settings, read and never written.

`~/.prime/config.json` is a JSON object: `api_key`, `team_id`, `base_url`, `frontend_url`,
`current_environment` ("production" is the public hub) and more. Its contexts are
`environments/NAME.json` beside it, with the same words. Any of them may be missing or null.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prime_cli.core.config import PRIME, PRIME_API_URL, PRIME_WEB_URL
from prime_cli.core.config.addresses import hub_address
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors

PRODUCTION = "production"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_BYTES = 1024 * 1024
_MOST_CONTEXTS = 1000


@dataclass(frozen=True)
class OfficialContext:
    """A hub that the official client knows; `name` is its word for it."""

    name: str
    base_url: str
    web_url: str
    team: str | None
    key: str | None = field(repr=False)


@dataclass(frozen=True)
class OfficialConfig:
    """What config.json and the files beside it hold; `current` is the name of one of them."""

    file: Path
    current: str
    contexts: tuple[OfficialContext, ...]


def read_official(path: Path) -> OfficialConfig:
    """Read config.json at `path`, or in the folder `path`, and the contexts beside it.

    Raises NotFound if there is none, UsageError for a file that is not what the client writes.
    """
    file = path / "config.json" if path.is_dir() else path
    table = _read(file)
    if table is None:
        raise NotFound(
            f"There is no {file}", hint="name the official client's config.json, or its folder"
        )
    current = _text(table, "current_environment", file) or PRODUCTION
    found = {current: _context(current, table, file)}
    for each in _context_files(file):
        # The current one is in config.json too, which the client reads first.
        if each.stem != current and (beside := _read(each)) is not None:
            found[each.stem] = _context(each.stem, beside, each)
    return OfficialConfig(file, current, tuple(found.values()))


def _context_files(file: Path) -> list[Path]:
    folder = file.parent / "environments"
    with storage_errors(folder):
        found = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return [each for each in found if _NAME.fullmatch(each.stem)][:_MOST_CONTEXTS]


def _context(name: str, table: dict[str, Any], file: Path) -> OfficialContext:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{file} has the context `{name[:80]}`, which is no name")
    base_url = _text(table, "base_url", file) or PRIME_API_URL
    usual = PRIME_WEB_URL if base_url == PRIME_API_URL else base_url
    web_url = _text(table, "frontend_url", file) or usual
    return OfficialContext(
        name=name,
        base_url=hub_address(base_url, f"base_url in {file}"),
        web_url=hub_address(web_url, f"frontend_url in {file}"),
        team=_team(table, file),
        key=_text(table, "api_key", file),
    )


def our_name(context: OfficialContext) -> str:
    """What the context is called here: the public hub's usual one is the built-in `prime`."""
    if context.name == PRODUCTION and context.base_url == PRIME_API_URL:
        return PRIME
    if context.name.lower() in (PRIME, "local") or not context.name[0].isalnum():
        return f"official-{context.name}"
    return context.name


def _read(file: Path) -> dict[str, Any] | None:
    with storage_errors(file):
        if not file.exists():
            return None
        content = b""
        if file.is_file():  # a pipe would be waited for
            with file.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
    try:
        table = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise UsageError(
            f"{file} is not a file of the official client", hint="it would be one JSON object"
        )
    return table


def _team(table: dict[str, Any], file: Path) -> str | None:
    team = _text(table, "team_id", file)
    if team is not None and not team.isprintable():
        raise UsageError(f"team_id in {file} has characters that cannot be shown")
    return team


def _text(table: dict[str, Any], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} in {file} is no text")
    return (value or "").strip() or None
