"""`prime env versions`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.envs.hub_environments import list_versions
from prime_cli.envs.names import resolve_name

_COLUMNS = ("Version", "Created", "Content hash", "Wheel sha256", "Files")
_SHOWN_HASH = 12


def versions(
    ctx: typer.Context,
    environment: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The environment.")],
    full_hashes: Annotated[bool, typer.Option("--full-hashes", help="Print hashes whole.")] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the versions of an environment.

    The newest comes first. A content hash names the sources that a version was made of,
    and the sha256 is that of its wheel, as `--sha256` pins it.

    \b
    Example:
      prime env versions starter/alphabet-sort
    \b
    See also: `prime env info`, `prime env delete`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    ref = resolve_name(session.hub, environment, progress=session.progress).at(None)
    found = list_versions(session.hub.of(ref.owner), ref)
    remember("environments", [ref.slug])
    shown = None if full_hashes else _SHOWN_HASH
    rows = [
        [
            each.version,
            each.created_at,
            each.sha256[:shown],
            (each.wheel_sha256 or "-")[:shown],
            str(each.artifacts),
        ]
        for each in found
    ]
    page = {"environment": ref.slug, "versions": found, "total": len(found)}
    session.output.table(_COLUMNS, rows, records=found, page=page)
