"""`prime hub team add`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session

MembersOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--member", metavar="USER[:admin]", help="A user; `:admin` may change who is in the team."
    ),
]


def add(
    ctx: typer.Context,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="3 to 30 of a-z, 0-9 and `-`.")],
    member: MembersOpt = None,
    name: Annotated[str, typer.Option("--name", help="What people call a new team.")] = "",
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a team, or add members to one.

    With `--member`, a team that is there already is added to, and a member who is in it already
    gets the role that is given. Members publish as the team, and see what is private of it.

    \b
    Example:
      prime hub team add lab --member ada:admin --member bob
    \b
    See also: `prime hub team list`, `prime hub user add`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.teams import add_to_team

    made = add_to_team(hub, Caller.operator(), team, member or [], name=name)
    members = ", ".join(made.members) or "nobody yet"
    session.output.done(f"The team `{team}` has: {members}", value=made)
