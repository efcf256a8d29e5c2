"""What the commands of the cache share: the choice of kinds, and entries as records."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from prime_cli.envs.cache.entries import CacheEntry, CacheKind

KindOpt = Annotated[
    list[CacheKind] | None, typer.Option("--kind", help="Only of this kind; several.")
]


def chosen(kinds: list[CacheKind] | None) -> frozenset[CacheKind] | None:
    """The kinds that were named; None where none was."""
    return frozenset(kinds) if kinds else None


def record_of(entry: CacheEntry) -> dict[str, Any]:
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
