"""What the commands of the cache share: the choice of kinds, and entries as records."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from prime_cli.envs.keeping.entries import Entry, Kind

KindOpt = Annotated[list[Kind] | None, typer.Option("--kind", help="Only of this kind; several.")]


def chosen(kinds: list[Kind] | None) -> frozenset[Kind] | None:
    """The kinds that were named; None where none was."""
    return frozenset(kinds) if kinds else None


def record_of(entry: Entry) -> dict[str, Any]:
    """An entry as JSON shows it."""
    return {
        "kind": entry.kind.value,
        "name": entry.name,
        "size": entry.size,
        "used": moment(entry.used),
    }


def moment(used: float) -> str:
    """Seconds since 1970 as an ISO 8601 time; empty for never."""
    return datetime.fromtimestamp(used, UTC).isoformat(timespec="seconds") if used else ""
