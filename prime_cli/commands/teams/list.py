"""`prime teams list`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.wire.codec import to_builtins


def list_(
    ctx: typer.Context,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List your teams on the current hub.

    \b
    Example:
      prime teams list
    \b
    See also: `prime switch`, `prime teams members`.
    """
    from prime_cli.accounts.teams import is_team, list_teams

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    teams = list_teams(session.hub)
    now = session.config.context.team
    rows = [
        [
            "*" if is_team(team, now) else "",
            team.slug,
            team.name,
            team.role.lower(),
            team.team_id,
            team.created_at,
        ]
        for team in teams
    ]
    records = [{**to_builtins(team), "current": is_team(team, now)} for team in teams]
    session.output.table(
        ["", "Team", "Name", "Role", "Id", "Created"],
        rows,
        records=records,
        page={"teams": records, "total_count": len(records)},
    )
