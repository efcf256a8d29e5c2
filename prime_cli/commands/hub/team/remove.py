"""`prime hub team remove`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, YesOpt, open_session


def remove(
    ctx: typer.Context,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="The team.")],
    member: Annotated[
        list[str] | None,
        typer.Option("--member", metavar="USER", help="Remove this member and keep the team."),
    ] = None,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    yes: YesOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Remove members of a team, or the team.

    Members lose what is private of the team at once. A team that owns environments or evaluations
    is not removed.

    \b
    Example:
      prime hub team remove lab --member bob
    \b
    See also: `prime hub team list`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)
    what = f"{', '.join(member)} from the team `{team}`" if member else f"the team `{team}`"
    session.output.confirm(f"Remove {what}?", yes=yes, otherwise="Nothing was removed")

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.teams import remove_member, remove_team

    for user in member or []:
        remove_member(hub, Caller.operator(), team, user)
    if not member:
        remove_team(hub, Caller.operator(), team)
    value = {"team": team, "members": member or [], "removed": True}
    session.output.done(f"Removed {what}", value=value)
