"""`prime hub user add`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session


def add(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="3 to 30 of a-z, 0-9 and `-`.")],
    name: Annotated[str, typer.Option("--name", help="What people call the user.")] = "",
    email: Annotated[str | None, typer.Option("--email", help="An e-mail address.")] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="Let the user look after the hub.")
    ] = False,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a user.

    A user has no key yet. May be run while the hub serves.

    \b
    Example:
      prime hub user add ada --email ada@example.org
    \b
    See also: `prime hub token add`, `prime hub team add`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database, new=True)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.users import create_user

    made = create_user(hub, Caller.operator(), user, name=name, email=email, admin=admin)
    session.output.done(f"Made the user `{user}`", value=made)
    session.output.hint(f"make a key with `prime hub token add {user}`")
