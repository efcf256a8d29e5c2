"""`prime hub user remove`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, YesOpt, open_session


def remove(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="The user.")],
    data: DataOpt = None,
    database: DatabaseOpt = None,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Remove a user, with all keys.

    The keys are worth nothing at once. A user who owns environments or evaluations is not
    removed: they would be gone for everybody who depends on them.

    \b
    Example:
      prime hub user remove ada --yes
    \b
    See also: `prime hub token remove --user`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)
    session.output.confirm(
        f"Remove the user `{user}` with all keys?", yes=yes, otherwise="Nothing was removed"
    )

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.users import remove_user

    remove_user(hub, Caller.operator(), user)
    session.output.done(f"Removed the user `{user}`", value={"user": user, "removed": True})
