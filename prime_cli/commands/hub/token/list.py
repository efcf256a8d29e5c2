"""`prime hub token list`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session

_COLUMNS = (
    "Id",
    "User",
    "Begins with",
    "Name",
    "Scope",
    "Owner",
    "Made",
    "Last used",
    "Expires",
    "Parent",
)


def list_all(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Those of this user.")
    ] = None,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """List keys, of which none is shown.

    When a key was last used is exact to ten minutes. Its parent is the key that it was made with,
    or that approved its login; it is revoked with that one.

    \b
    Example:
      prime hub token list --user ada
    \b
    See also: `prime hub token add`, `prime hub token remove`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.key_management import list_keys

    found = list_keys(hub, Caller.operator(), user)
    rows = [
        [
            key.id,
            key.user,
            key.prefix,
            key.name,
            key.scope,
            key.owner or "",
            key.created_at,
            key.last_used_at or "never",
            key.expires_at or "never",
            key.parent or "",
        ]
        for key in found
    ]
    session.output.table(_COLUMNS, rows, records=found)
