"""`prime teams invite`, and what all commands about invitations share."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.session import Session
from prime_cli.wire.invitations import INVITE_FEATURE, Invitation, InvitationList, NewInvitation

if TYPE_CHECKING:
    from prime_cli.client.api.administration import Administration
    from prime_cli.terminal.output import Output
    from prime_cli.wire.invitations import InvitationMade

UserArg = Annotated[
    str | None,
    typer.Argument(
        metavar="[USER]",
        help="The one user name that it is for.",
        show_default="whoever has the link",
    ),
]
UsesOpt = Annotated[
    int, typer.Option("--uses", metavar="N", min=1, max=1000, help="How many people it lets in.")
]
ExpiresOpt = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="How long it is valid, such as 30d or 12h.",
        show_default="a week",
    ),
]
InvitationArg = Annotated[str, typer.Argument(metavar="ID", help="Its id.")]


class MadeInvitation(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation, and the command that accepts it; the fields of an `Invitation` follow."""

    command: str
    link: str
    id: str
    by: str
    team: str | None
    role: str | None
    admin: bool
    user: str | None
    uses_left: int
    sign_up: bool
    created_at: str
    expires_at: str


class RevokedInvitation(msgspec.Struct, frozen=True):
    """An invitation that lets nobody in any more."""

    invitation: str
    revoked: bool


@hub_options(answer=MadeInvitation, effects=WRITES)
def invite(
    ctx: typer.Context,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="Its slug or id.")],
    user: UserArg = None,
    *,
    admin: Annotated[bool, typer.Option("--admin", help="Invite as an admin of the team.")] = False,
    uses: UsesOpt = 1,
    expires: ExpiresOpt = None,
) -> None:
    """Invite people to a team.

    Prints the command that accepts the invitation; send it to the person. It is shown only once.
    For admins of the team, with a key of the scope `admin`, and for people who have an account on
    the hub; new users are let in by `prime hub invite`, or where the hub allows it.

    \b
    Example:
      prime teams invite lab bob
      prime teams invite lab --uses 20 --expires 2d
    \b
    See also: `prime teams invitations`, `prime teams revoke-invitation`.
    """
    session = open_session(ctx)
    role = "admin" if admin else "member"
    wanted = NewInvitation(team, role, user=user, uses=uses, expires_in=read_expiry(expires))
    show_made(session.output, _administration(session).invite(wanted))


@hub_options(answer=InvitationList, record=Invitation)
def list_(
    ctx: typer.Context,
    team: Annotated[
        str | None,
        typer.Argument(metavar="[TEAM]", help="Its slug or id.", show_default="all of yours"),
    ] = None,
) -> None:
    """List the invitations that you may revoke.

    Only those that are still valid, without their links.

    \b
    Example:
      prime teams invitations lab
    \b
    See also: `prime teams invite`, `prime teams revoke-invitation`.
    """
    session = open_session(ctx)
    show_list(session.output, _administration(session).list_invitations(team).invitations)


@hub_options(answer=RevokedInvitation, effects=WRITES)
def revoke(
    ctx: typer.Context,
    invitation: InvitationArg,
) -> None:
    """Revoke an invitation.

    It lets nobody in from then on. Members who have accepted it stay.

    \b
    Example:
      prime teams revoke-invitation inv_0f1e2d3c4b5a6978
    \b
    See also: `prime teams invitations`, `prime teams remove`.
    """
    session = open_session(ctx)
    _administration(session).revoke_invitation(invitation)
    show_revoked(session.output, invitation)


def _administration(session: Session) -> "Administration":
    if INVITE_FEATURE not in session.hub.capabilities().features:
        raise UsageError(f"{session.hub.host} has no invitations", hint="use its web pages")
    return session.hub.administration


# --- Shared with `prime hub` ---


def read_expiry(text: str | None) -> int | None:
    """Seconds; raises UsageError."""
    return None if text is None else parse_duration(text)


def show_made(output: "Output", made: "InvitationMade") -> None:
    """The command to send alone on stdout, and beside it what it does."""
    from prime_cli.client.accounts.contexts import joining_command

    invitation, command = made.invitation, joining_command(made.link)
    fields = msgspec.structs.asdict(invitation)
    record = MadeInvitation(command=command, link=made.link, **fields)
    output.text(command, record=record)
    whom = f"`{invitation.user}`" if invitation.user else pluralize(invitation.uses_left, "person")
    whom = whom.replace("persons", "people")
    to = f"the team `{invitation.team}`" if invitation.team else "the hub"
    output.say(f"This command lets {whom} into {to} until {_minute(invitation.expires_at)}")
    if invitation.team:
        output.say(f"Who joins sees what is private to `{invitation.team}`")
    if invitation.sign_up:
        output.say("It also creates an account for somebody who is new to the hub")
    else:
        output.say("It is for people who have an account on the hub")


_COLUMNS = ("Id", "By", "Team", "Role", "For", "Uses left", "New users", "Until")


def show_list(output: "Output", found: list[Invitation]) -> None:
    """A table, with the word `admin` for the role of future admins of the hub."""
    rows = [
        [
            each.id,
            each.by,
            each.team or "",
            "admin of the hub" if each.admin else each.role or "",
            each.user or "",
            str(each.uses_left),
            "yes" if each.sign_up else "",
            each.expires_at,
        ]
        for each in found
    ]
    output.table(_COLUMNS, rows, records=found, page=InvitationList(found))


def show_revoked(output: "Output", invitation: str) -> None:
    """Say that it is done."""
    value = RevokedInvitation(invitation, revoked=True)
    output.done(f"Revoked the invitation {invitation}", value=value)


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"
