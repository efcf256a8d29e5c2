"""`prime hub invite`, `invitations` and `revoke-invitation`."""

from typing import Annotated

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import HubAddressOptions, HubData
from prime_cli.commands.invitations import (
    ExpiresOpt,
    InvitationArg,
    MadeInvitation,
    RevokedInvitation,
    UserArg,
    UsesOpt,
    read_expiry,
    show_list,
    show_made,
    show_revoked,
)
from prime_cli.commands.options import CONTEXT, local_options, open_session
from prime_cli.wire.invitations import Invitation, InvitationList, NewInvitation


@local_options(CONTEXT, answer=MadeInvitation, effects=WRITES)
def invite(
    ctx: typer.Context,
    user: UserArg = None,
    *,
    team: Annotated[
        str | None,
        typer.Option(
            "--team", metavar="TEAM[:admin]", help="Also add them to this team, or as its admins."
        ),
    ] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="Make the new user an admin of the hub.")
    ] = False,
    uses: UsesOpt = 1,
    expires: ExpiresOpt = None,
    place: HubAddressOptions,
) -> None:
    """Invite people to a hub.

    Prints the command with which a person signs up and is logged in; send it to them. It is shown
    only once. It works until it is used, its time is over, or the key of who made it is revoked.

    \b
    Example:
      prime hub invite bob --team lab --context team
      prime hub invite --uses 20 --expires 2d
    \b
    See also: `prime hub invitations`, `prime hub user add`, `prime teams invite`.
    """
    session = open_session(ctx)
    name, _, role = (team or "").partition(":")
    wanted = NewInvitation(
        team=name or None,
        role=role or "member",
        admin=admin,
        user=user,
        uses=uses,
        expires_in=read_expiry(expires),
    )
    show_made(session.output, place.administration(session).invite(wanted))
    if session.context_name is None and place.public_url is None:
        session.output.warn(
            f"The command is for a hub at {place.options().url}",
            hint="if clients reach it at another address, add `--public-url`",
        )


@local_options(CONTEXT, answer=InvitationList, record=Invitation)
def list_(
    ctx: typer.Context,
    *,
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="Only those to this team.")
    ] = None,
    place: HubData,
) -> None:
    """List the invitations of a hub.

    Only those that are still valid, without their links.

    \b
    Example:
      prime hub invitations --context team
    \b
    See also: `prime hub invite`, `prime hub revoke-invitation`.
    """
    session = open_session(ctx)
    show_list(session.output, place.administration(session).list_invitations(team).invitations)


@local_options(CONTEXT, answer=RevokedInvitation, effects=WRITES)
def revoke(
    ctx: typer.Context,
    invitation: InvitationArg,
    place: HubData,
) -> None:
    """Revoke an invitation.

    It lets nobody in from then on. Users who have accepted it stay.

    \b
    Example:
      prime hub revoke-invitation inv_0f1e2d3c4b5a6978 --context team
    \b
    See also: `prime hub invitations`, `prime hub user remove`.
    """
    session = open_session(ctx)
    place.administration(session).revoke_invitation(invitation)
    show_revoked(session.output, invitation)
