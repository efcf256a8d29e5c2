"""`prime hub team list`."""

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session

_COLUMNS = ("Team", "Name", "Members", "Id", "Since")


def list_all(
    ctx: typer.Context,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """List teams and their members.

    \b
    Example:
      prime hub team list
    \b
    See also: `prime hub team add`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.services.teams import list_teams

    found = list_teams(hub)
    rows = [
        [team.slug, team.name, ", ".join(team.members), team.id, team.created_at] for team in found
    ]
    session.output.table(_COLUMNS, rows, records=found)
