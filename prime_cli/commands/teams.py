"""`prime teams …`, also `prime team …`, and `prime switch`."""

from typing import Annotated

import msgspec
import typer
from msgspec.structs import asdict

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import change_one_by_one, require_governed, say_who_sees
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.core.errors import UsageError
from prime_cli.session import Session
from prime_cli.wire.accounts import Member, MemberChange, Team

TeamArg = Annotated[str, typer.Argument(metavar="TEAM", help="Its slug or id.")]

app = group(
    "List your teams, and manage their members.",
    {
        "list": ("prime_cli.commands.teams:list_", "List your teams on the current hub."),
        "members": ("prime_cli.commands.teams:members", "List the members of a team."),
        "add": ("prime_cli.commands.teams:add", "Add members to a team, or change their role."),
        "remove": ("prime_cli.commands.teams:remove", "Remove members from a team, or leave it."),
        "invite": ("prime_cli.commands.invitations:invite", "Invite people to a team."),
        "invitations": (
            "prime_cli.commands.invitations:list_",
            "List the invitations that you may revoke.",
        ),
        "revoke-invitation": ("prime_cli.commands.invitations:revoke", "Revoke an invitation."),
    },
    unlisted={"join": ("prime_cli.commands.join:join", "Accept an invitation to a team.")},
)


class ListedTeam(Team, kw_only=True):
    """A team, and whether it is the current one."""

    current: bool


class Teams(msgspec.Struct, frozen=True):
    """Your teams."""

    teams: list[ListedTeam]
    total_count: int


@hub_options(answer=Teams, record=ListedTeam)
def list_(
    ctx: typer.Context,
) -> None:
    """List your teams on the current hub.

    \b
    Example:
      prime teams list
    \b
    See also: `prime switch`, `prime teams members`.
    """
    from prime_cli.client.accounts.teams import is_team, list_teams

    session = open_session(ctx)
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
    records = [ListedTeam(**asdict(team), current=is_team(team, now)) for team in teams]
    session.output.table(
        ["", "Team", "Name", "Role", "Id", "Created"],
        rows,
        records=records,
        page=Teams(records, len(records)),
    )


class MemberList(msgspec.Struct, frozen=True):
    """The members of a team."""

    members: list[Member]
    total_count: int


@hub_options(answer=MemberList, record=Member)
def members(
    ctx: typer.Context,
    team: Annotated[
        str | None,
        typer.Argument(metavar="[TEAM]", help="Its slug or id.", show_default="the current team"),
    ] = None,
) -> None:
    """List the members of a team.

    \b
    Example:
      prime teams members acme
    \b
    See also: `prime teams list`, `prime hub team add`.
    """
    from prime_cli.client.accounts.teams import find_team, list_members

    session = open_session(ctx)
    wanted = team or session.config.context.team
    if wanted is None:
        raise UsageError("No team selected", hint="pass one; list yours with `prime teams list`")
    found = list_members(session.hub, find_team(session.hub, wanted))
    rows = [
        [
            each.user_name or "",
            each.user_email or "",
            each.role.lower(),
            each.user_id,
            each.joined_at,
        ]
        for each in found
    ]
    session.output.table(
        ["Name", "Email", "Role", "Id", "Joined"],
        rows,
        records=found,
        page=MemberList(found, len(found)),
    )


class ChangedMembers(msgspec.Struct, frozen=True):
    """Members that were added to a team or removed from it."""

    team: str
    members: list[str]


@hub_options(answer=ChangedMembers, effects=WRITES)
def add(
    ctx: typer.Context,
    team: TeamArg,
    users: Annotated[
        list[str],
        typer.Argument(metavar="USER[:admin]...", help="Users; `:admin` may manage the members."),
    ],
) -> None:
    """Add members to a team, or change their role.

    For admins of the team, with a key of the scope `admin`. Members publish as the team and see its
    private environments.

    \b
    Example:
      prime teams add lab bob eve:admin
    \b
    See also: `prime teams invite`, `prime teams members`.
    """
    from prime_cli.client.accounts.teams import find_team

    session = open_session(ctx)
    admins = require_governed(session)
    found = find_team(session.hub, team)
    roles = {user: role or "member" for user, _, role in (each.partition(":") for each in users)}
    done = change_one_by_one(
        session,
        roles,
        lambda user: admins.set_member(found.team_id, user, MemberChange(roles[user])),
        f"Added {{}} to the team `{found.slug}`",
    )
    session.output.done(done, value=ChangedMembers(found.slug, list(roles)))
    say_who_sees(session, roles, found.slug)


@hub_options(YES, answer=ChangedMembers, effects=WRITES)
def remove(
    ctx: typer.Context,
    team: TeamArg,
    users: Annotated[list[str], typer.Argument(metavar="USER...", help="The members.")],
) -> None:
    """Remove members from a team, or leave it.

    They lose the team's private data at once. Everybody may remove themselves.

    \b
    Example:
      prime teams remove lab bob
    \b
    See also: `prime teams members`, `prime teams add`.
    """
    from prime_cli.client.accounts.teams import find_team

    session = open_session(ctx)
    admins = require_governed(session)
    found = find_team(session.hub, team)
    what = f"{', '.join(users)} from the team `{found.slug}`"
    session.output.confirm(f"Remove {what}?", otherwise="Nothing was removed")
    done = change_one_by_one(
        session,
        users,
        lambda user: admins.remove_member(found.team_id, user),
        f"Removed {{}} from the team `{found.slug}`",
    )
    session.output.done(done, value=ChangedMembers(found.slug, users))


class CurrentTeam(msgspec.Struct, frozen=True):
    """The team of a context; null for your personal account."""

    context: str
    team: str | None


@hub_options(answer=CurrentTeam, effects=WRITES)
def switch(
    ctx: typer.Context,
    team: Annotated[
        str | None,
        typer.Argument(
            metavar="[personal|TEAM]",
            help="The team's slug or id.",
            show_default="ask, on a terminal",
        ),
    ] = None,
) -> None:
    """Switch to a team or to your personal account.

    Uploads and pushes to the current hub then belong to the team by default. The variables
    PRIME_TEAM and PRIME_TEAM_ID override it.

    \b
    Example:
      prime switch acme
      prime switch personal
    \b
    See also: `prime teams list`, `prime env upload --team`, `prime whoami`.
    """
    from prime_cli.client.accounts.teams import (
        choose_team,
        list_teams,
        pick_team,
        require_team_setting,
        team_title,
    )

    session = open_session(ctx)
    require_team_setting(session.config)
    wanted = team
    chosen: Team | None = None
    if wanted != PERSONAL:
        teams = list_teams(session.hub)
        wanted = wanted or _ask_for_team(session, teams)
        chosen = None if wanted == PERSONAL else pick_team(teams, wanted, session.hub.host)
    choose_team(session.config, chosen)
    record = CurrentTeam(session.config.context.name, chosen.slug if chosen else None)
    told = f"the team {team_title(chosen)}" if chosen else "yourself"
    session.output.done(f"On {session.hub.host} you now use {told}", value=record)


def _ask_for_team(session: Session, teams: list[Team]) -> str:
    from prime_cli.client.accounts.teams import team_title

    if not teams:
        session.output.say(f"You are not in a team on {session.hub.host}")
        return PERSONAL
    named = {f"{team_title(each)}, {each.role.lower()}": each.slug for each in teams}
    if not session.output.is_interactive:
        named = {each.slug: each.slug for each in teams}
    options = {PERSONAL: PERSONAL, **named}
    return options[session.output.choose("Which account do you want to use?", list(options))]
