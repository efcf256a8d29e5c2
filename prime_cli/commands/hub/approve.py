"""`prime hub approve`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session


def approve(
    ctx: typer.Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="What the client shows.")],
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Whom it is let in as.")],
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Let a client in that waits for `prime login`.

    The client gets a new key of the user with the scope `write`, and nobody else sees that key.

    \b
    Example:
      prime hub approve K7QXM2WD --user ada
    \b
    See also: `prime hub audit`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.logins import approve_login_of

    approve_login_of(hub, Caller.operator(), code, user)
    session.output.done(f"The client is logged in as `{user}`", value={"user": user})
