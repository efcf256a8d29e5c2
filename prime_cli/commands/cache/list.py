"""`prime cache list`."""

from datetime import UTC, datetime
from typing import Any

import typer

from prime_cli.commands.cache.kinds import KindOpt, chosen, moment, record_of
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.formatting import format_bytes
from prime_cli.envs.cache.entries import DESCRIPTIONS, CacheEntry, CacheKind, list_entries
from prime_cli.session import Session
from prime_cli.terminal.words import age


def list_kept(
    ctx: typer.Context,
    kind: KindOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """List what is kept, how big it is and its last use.

    Everything here can be fetched or made again. Published environments of the hub in the box,
    settings, keys and runs are not among it. With --kind each entry is listed.

    \b
    Example:
      prime cache list
      prime cache list --kind interpreters --output json
    \b
    See also: `prime cache prune`, `prime cache verify`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    home = session.config.home.value
    kinds = chosen(kind)
    entries = list(list_entries(home, kinds or frozenset(CacheKind)))
    if kinds is None:
        _show_kinds(entries, session)
    else:
        _show_entries(entries, session)
    session.output.say(f"{format_bytes(sum(each.size for each in entries))} in {home}")


def _show_kinds(entries: list[CacheEntry], session: Session) -> None:
    records: list[dict[str, Any]] = []
    for kind in CacheKind:
        own = [each for each in entries if each.kind is kind]
        used = moment(max((each.used for each in own), default=0.0))
        size = sum(each.size for each in own)
        records.append({"kind": kind, "entries": len(own), "size": size, "used": used})
    now = datetime.now(UTC)
    rows = [
        [
            each["kind"], str(each["entries"]), format_bytes(each["size"]),
            age(each["used"], now) or "-", DESCRIPTIONS[each["kind"]],
        ]
        for each in records
    ]  # fmt: skip
    session.output.table(["Kind", "Entries", "Size", "Last use", "What"], rows, records=records)


def _show_entries(entries: list[CacheEntry], session: Session) -> None:
    now = datetime.now(UTC)
    rows = [[each.name, format_bytes(each.size), age(moment(each.used), now)] for each in entries]
    records = [record_of(each) for each in entries]
    session.output.table(["Entry", "Size", "Last use"], rows, records=records)
