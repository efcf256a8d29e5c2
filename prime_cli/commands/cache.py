"""`prime cache …`."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec.structs import asdict

from prime_cli.commands.base import group
from prime_cli.commands.contract import RUNS_CODE, WRITES
from prime_cli.commands.options import DryRunOpt, local_options, open_session
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.formatting import format_bytes, parse_duration, pluralize
from prime_cli.envs.cache.entries import DESCRIPTIONS, CacheEntry, CacheKind, list_entries
from prime_cli.session import Session
from prime_cli.terminal.text import age

_HERE = "prime_cli.commands.cache"

if TYPE_CHECKING:
    from prime_cli.envs.cache.maintenance import BrokenEntry

app = group(
    "List, verify and prune prime's cache.",
    {
        "list": (f"{_HERE}:list_kept", "List cache entries with size and last use."),
        "prune": (f"{_HERE}:prune_kept", "Remove entries that have not been used recently."),
        "verify": (f"{_HERE}:verify_kept", "Verify the integrity of the cache."),
    },
    aliases={"ls": "list"},
)


KindOpt = Annotated[
    list[CacheKind] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"Only entries of this kind; repeatable. One of: {', '.join(CacheKind)}.",
    ),
]


def _chosen_kinds(kinds: list[CacheKind] | None) -> frozenset[CacheKind] | None:
    """The kinds that were named; None where none was."""
    return frozenset(kinds) if kinds else None


class KeptEntry(msgspec.Struct, frozen=True):
    """An entry; `size` in bytes, `used` is the last time, or empty."""

    kind: CacheKind
    name: str
    size: int
    used: str


class KeptKind(msgspec.Struct, frozen=True):
    """All entries of a kind, in the same way."""

    kind: CacheKind
    entries: int
    size: int
    used: str


class PrunedEntries(msgspec.Struct, frozen=True):
    """What was removed, `size` in bytes, and what was kept as it is `in_use`."""

    dry_run: bool
    size: int
    removed: list[KeptEntry]
    in_use: list[KeptEntry]


class DamagedEntry(KeptEntry, frozen=True):
    """An entry that cannot be used, and whether it was removed."""

    why: str
    removed: bool


class VerifiedCache(msgspec.Struct, frozen=True):
    """How many entries were checked, and those that are damaged."""

    checked: int
    broken: list[DamagedEntry]


def _entry_record(entry: CacheEntry) -> KeptEntry:
    return KeptEntry(entry.kind, entry.name, entry.size, _iso_time(entry.used))


def _iso_time(used: float) -> str:
    """Seconds since 1970 as an ISO 8601 time; empty for never."""
    return datetime.fromtimestamp(used, UTC).isoformat(timespec="seconds") if used else ""


@local_options(answer=(list[KeptKind], list[KeptEntry]))
def list_kept(
    ctx: typer.Context,
    kind: KindOpt = None,
) -> None:
    """List cache entries with size and last use.

    Everything in the cache can be downloaded or created again. It does not include environments
    published on the built-in hub, settings, keys or runs. Use --kind to list single entries.

    \b
    Example:
      prime cache list
      prime cache list --kind interpreters --output json
    \b
    See also: `prime cache prune`, `prime cache verify`.
    """
    session = open_session(ctx)
    home = session.config.home.value
    kinds = _chosen_kinds(kind)
    entries = list(list_entries(home, kinds or frozenset(CacheKind)))
    if kinds is None:
        _show_kinds(entries, session)
    else:
        _show_entries(entries, session)
    session.output.say(f"{format_bytes(sum(each.size for each in entries))} in {home}")


def _show_kinds(entries: list[CacheEntry], session: Session) -> None:
    records: list[KeptKind] = []
    for kind in CacheKind:
        own = [each for each in entries if each.kind is kind]
        used = _iso_time(max((each.used for each in own), default=0.0))
        size = sum(each.size for each in own)
        records.append(KeptKind(kind, len(own), size, used))
    now = datetime.now(UTC)
    rows = [
        [
            each.kind, str(each.entries), format_bytes(each.size),
            age(each.used, now) or "-", DESCRIPTIONS[each.kind],
        ]
        for each in records
    ]  # fmt: skip
    session.output.table(["Kind", "Entries", "Size", "Last use", "What"], rows, records=records)


def _show_entries(entries: list[CacheEntry], session: Session) -> None:
    now = datetime.now(UTC)
    rows = [
        [each.name, format_bytes(each.size), age(_iso_time(each.used), now)] for each in entries
    ]
    records = [_entry_record(each) for each in entries]
    session.output.table(["Entry", "Size", "Last use"], rows, records=records)


@local_options(answer=PrunedEntries, effects=WRITES)
def prune_kept(
    ctx: typer.Context,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Minimum time since the last use.",
            show_default="30d",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Regardless of the last use.")] = False,
    kind: KindOpt = None,
    dry_run: DryRunOpt = False,
) -> None:
    """Remove entries that have not been used recently.

    Entries in use by a running command are kept. Locks and bundles are removed only if selected
    with --kind: without them an environment may run with other packages, or not at all.

    \b
    Example:
      prime cache prune --older-than 2w --dry-run
      prime cache prune --all --kind interpreters
    \b
    See also: `prime cache list`, `prime cache verify`.
    """
    from prime_cli.envs.cache.maintenance import prune, select_unused

    session = open_session(ctx)
    if everything and older_than is not None:
        raise UsageError("`--all` and `--older-than` are mutually exclusive")
    seconds = None if everything else parse_duration(older_than or "30d")
    home, show = session.config.home.value, session.output
    old = select_unused(home, now=time.time(), older_than=seconds, kinds=_chosen_kinds(kind))
    done = prune(home, old, session.progress, dry_run=dry_run)
    for entry in done.busy:
        show.say(f"{entry.name} is in use by a running command and was kept")
    if dry_run and not show.is_json:
        rows = [[each.name, format_bytes(each.size)] for each in done.removed]
        show.table(["Entry", "Size"], rows, records=[_entry_record(each) for each in done.removed])
    count = len(done.removed)
    said = f"{pluralize(count, 'entry', 'entries')}, {format_bytes(done.size)}"
    show.done(
        f"Would remove {said}" if dry_run else f"Removed {said}",
        value=PrunedEntries(
            dry_run=dry_run,
            size=done.size,
            removed=[_entry_record(each) for each in done.removed],
            in_use=[_entry_record(each) for each in done.busy],
        ),
    )


@local_options(answer=VerifiedCache, record=DamagedEntry, effects=(WRITES, RUNS_CODE))
def verify_kept(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Remove damaged entries.")] = False,
    kind: KindOpt = None,
) -> None:
    """Verify the integrity of the cache.

    Recomputes the sha256 of wheels and bundle contents, starts interpreters, and reads records.
    Exits with 8 if damaged entries remain. Entries removed by --fix are downloaded or created
    again when needed.

    \b
    Example:
      prime cache verify
      prime cache verify --fix --kind interpreters
    \b
    See also: `prime cache list`, `prime cache prune`.
    """
    from prime_cli.envs.cache.maintenance import prune, verify_entries

    session = open_session(ctx)
    home, show = session.config.home.value, session.output
    entries = list_entries(home, _chosen_kinds(kind) or frozenset(CacheKind))
    count, broken = verify_entries(entries, session.progress)
    removed = prune(home, [b.entry for b in broken] if fix else [], session.progress, dry_run=False)
    names = {entry.name for entry in removed.removed}
    records = [_broken_record(each, removed=each.entry.name in names) for each in broken]
    if show.is_json or broken:
        page = VerifiedCache(count, records)
        rows = [[each.entry.name, each.why] for each in broken]
        show.table(["Broken", "Why"], rows, records=records, page=page)
    left = [each.entry.name for each in broken if each.entry.name not in names]
    if left:
        raise IntegrityError(
            f"{len(left)} of {count} cache entries are damaged: {', '.join(left)}",
            hint="remove them with `prime cache verify --fix`",
        )
    show.done(
        f"Checked {count}; removed {len(names)}" if names else f"Checked {count}: no damage found"
    )


def _broken_record(broken: "BrokenEntry", *, removed: bool) -> DamagedEntry:
    return DamagedEntry(**asdict(_entry_record(broken.entry)), why=broken.why, removed=removed)
