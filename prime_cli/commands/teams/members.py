"""`prime teams members`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import UsageError


def members(
    ctx: typer.Context,
    team: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEAM]", help="Its slug or id.", show_default="the team you work for"
        ),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List who is in a team.

    \b
    Example:
      prime teams members acme
    \b
    See also: `prime teams list`, `prime hub team add`.
    """
    from prime_cli.accounts.teams import find_team, list_members

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    wanted = team or session.config.context.team
    if wanted is None:
        raise UsageError("No team is chosen", hint="name one, as `prime teams list` shows them")
    found = list_members(session.hub, find_team(session.hub, wanted))
    rows = [
        [
            each.user_name or "",
            each.user_email or "",
            each.role.lower(),
            each.user_id,
            each.joined_at,
        ]
        for each in found
    ]
    session.output.table(
        ["Name", "Email", "Role", "Id", "Joined"],
        rows,
        records=found,
        page={"members": found, "total_count": len(found)},
    )
