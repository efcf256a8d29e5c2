"""`prime cache prune`."""

import time
from typing import Annotated

import typer

from prime_cli.commands.cache.kinds import KindOpt, chosen, record_of
from prime_cli.commands.options import DryRunOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_bytes, parse_duration, pluralize
from prime_cli.envs.cache.maintenance import prune, select_unused


def prune_kept(
    ctx: typer.Context,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="TIME", help="Not used for that long.", show_default="30d"
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="However lately it was used.")] = False,
    kind: KindOpt = None,
    dry_run: DryRunOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Remove what was not used for some time.

    What a running command uses stays. So do locks and bundles, unless --kind names them: without
    them an environment may run with other packages, or not at all.

    \b
    Example:
      prime cache prune --older-than 2w --dry-run
      prime cache prune --all --kind interpreters
    \b
    See also: `prime cache list`, `prime cache verify`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    if everything and older_than is not None:
        raise UsageError("`--all` and `--older-than` exclude each other")
    seconds = None if everything else parse_duration(older_than or "30d")
    home, show = session.config.home.value, session.output
    old = select_unused(home, now=time.time(), older_than=seconds, kinds=chosen(kind))
    done = prune(home, old, session.progress, dry_run=dry_run)
    for entry in done.busy:
        show.say(f"{entry.name} stays, because a running command uses it")
    if dry_run and not show.is_json:
        rows = [[each.name, format_bytes(each.size)] for each in done.removed]
        show.table(["Entry", "Size"], rows, records=[record_of(each) for each in done.removed])
    count = len(done.removed)
    said = f"{pluralize(count, 'entry', 'entries')}, {format_bytes(done.size)}"
    show.done(
        f"Would remove {said}" if dry_run else f"Removed {said}",
        value={
            "dry_run": dry_run,
            "size": done.size,
            "removed": [record_of(each) for each in done.removed],
            "in_use": [record_of(each) for each in done.busy],
        },
    )
