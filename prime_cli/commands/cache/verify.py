"""`prime cache verify`."""

from typing import Annotated

import typer

from prime_cli.commands.cache.kinds import KindOpt, chosen, record_of
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import IntegrityError
from prime_cli.envs.cache.entries import CacheKind, list_entries
from prime_cli.envs.cache.maintenance import BrokenEntry, prune, verify_entries


def verify_kept(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Remove what is broken.")] = False,
    kind: KindOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Check that what is kept is what it was.

    The sha256 of wheels and of what came in bundles is computed anew, interpreters are started,
    and notes are read. It ends with 8 when something is broken and stays; what --fix removes is
    fetched or made again when it is needed.

    \b
    Example:
      prime cache verify
      prime cache verify --fix --kind interpreters
    \b
    See also: `prime cache list`, `prime cache prune`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    home, show = session.config.home.value, session.output
    entries = list_entries(home, chosen(kind) or frozenset(CacheKind))
    count, broken = verify_entries(entries, session.progress)
    removed = prune(home, [b.entry for b in broken] if fix else [], session.progress, dry_run=False)
    names = {entry.name for entry in removed.removed}
    records = [_record(each, removed=each.entry.name in names) for each in broken]
    if show.is_json or broken:
        page = {"checked": count, "broken": records}
        rows = [[each.entry.name, each.why] for each in broken]
        show.table(["Broken", "Why"], rows, records=records, page=page)
    left = [each.entry.name for each in broken if each.entry.name not in names]
    if left:
        raise IntegrityError(
            f"{len(left)} of {count} kept things are broken: {', '.join(left)}",
            hint="remove them with `prime cache verify --fix`",
        )
    show.done(f"Checked {count}; removed {len(names)}" if names else f"Checked {count}: all whole")


def _record(broken: BrokenEntry, *, removed: bool) -> dict[str, object]:
    return {**record_of(broken.entry), "why": broken.why, "removed": removed}
