"""`prime hub team …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import HubData, change_one_by_one, say_who_sees
from prime_cli.commands.options import CONTEXT, YES, local_options, open_session
from prime_cli.wire.accounts import NewTeam, TeamItem

_HERE = "prime_cli.commands.hub.teams"

app = group(
    "Manage teams that publish as one owner.",
    {
        "add": (f"{_HERE}:add", "Create a team, or add members to one."),
        "list": (f"{_HERE}:list_", "List teams and their members."),
        "remove": (f"{_HERE}:remove", "Remove members from a team, or the team."),
    },
)


MembersOpt = Annotated[
    list[str] | None,
    typer.Option(
        "--member", metavar="USER[:admin]", help="A user; `:admin` may manage the members."
    ),
]


@local_options(CONTEXT, answer=TeamItem, effects=WRITES)
def add(
    ctx: typer.Context,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="3 to 30 of a-z, 0-9 and `-`.")],
    *,
    member: MembersOpt = None,
    name: Annotated[str, typer.Option("--name", help="The display name of a new team.")] = "",
    place: HubData,
) -> None:
    """Create a team, or add members to one.

    `--member` adds to an existing team, or changes the role of an existing member. Members publish
    as the team and see its private environments.

    \b
    Example:
      prime hub team add lab --member ada:admin --member bob
    \b
    See also: `prime hub team list`, `prime hub user add`.
    """
    session = open_session(ctx)
    made = place.administration(session).add_to_team(NewTeam(team, member or [], name))
    members = f"has: {', '.join(made.members)}" if made.members else "has no members yet"
    session.output.done(f"The team `{team}` {members}", value=made)
    say_who_sees(session, (each.partition(":")[0] for each in member or ()), team)


_COLUMNS = ("Team", "Name", "Members", "Id", "Since")


@local_options(CONTEXT, answer=list[TeamItem])
def list_(
    ctx: typer.Context,
    place: HubData,
) -> None:
    """List teams and their members.

    \b
    Example:
      prime hub team list
    \b
    See also: `prime hub team add`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_teams().teams
    rows = [
        [team.slug, team.name, ", ".join(team.members), team.id, team.created_at] for team in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


class RemovedTeam(msgspec.Struct, frozen=True):
    """A team that was removed or, where `members` are named, these members of it."""

    team: str
    members: list[str]
    removed: bool


@local_options(YES, CONTEXT, answer=RemovedTeam, effects=WRITES)
def remove(
    ctx: typer.Context,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="The team.")],
    *,
    member: Annotated[
        list[str] | None,
        typer.Option("--member", metavar="USER", help="Remove this member and keep the team."),
    ] = None,
    place: HubData,
) -> None:
    """Remove members from a team, or the team.

    Members lose access to the team's private data at once. A team that owns environments or
    evaluations cannot be removed.

    \b
    Example:
      prime hub team remove lab --member bob
    \b
    See also: `prime hub team list`.
    """
    session = open_session(ctx)
    admins = place.administration(session)
    what = f"{', '.join(member)} from the team `{team}`" if member else f"the team `{team}`"
    session.output.confirm(f"Remove {what}?", otherwise="Nothing was removed")
    change_one_by_one(
        session,
        member or [],
        lambda user: admins.remove_member(team, user),
        f"Removed {{}} from the team `{team}`",
    )
    if not member:
        admins.remove_team(team)
    value = RemovedTeam(team, member or [], removed=True)
    session.output.done(f"Removed {what}", value=value)
