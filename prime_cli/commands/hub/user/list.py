"""`prime hub user list`."""

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session

_COLUMNS = ("User", "Name", "E-mail", "Admin", "Teams", "Keys", "Since")


def list_all(
    ctx: typer.Context,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """List users.

    \b
    Example:
      prime hub user list --output json
    \b
    See also: `prime hub user add`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.services.users import list_users

    found = list_users(hub)
    rows = [
        [
            user.slug,
            user.name,
            user.email or "",
            "yes" if user.admin else "",
            str(user.teams),
            str(user.keys),
            user.created_at,
        ]
        for user in found
    ]
    session.output.table(_COLUMNS, rows, records=found)
