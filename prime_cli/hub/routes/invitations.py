"""Invitations: made by admins, accepted by users and by people who have no key yet."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.requests import read_form
from prime_cli.hub.routes.responses import answer_page, withhold_inside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import invitations as service
from prime_cli.hub.services import joining
from prime_cli.pages.login import invitation_page, joined_page
from prime_cli.wire.invitations import (
    JOIN_PAGE,
    TOKEN,
    TOKEN_PREFIX,
    Acceptance,
    Accepted,
    Invitation,
    InvitationList,
    InvitationMade,
    InvitationQuery,
    NewInvitation,
    ShownToken,
)
from prime_cli.wire.secrets import Done

router = Router(needs_key=True)


@router.post("/invitations", "Invite people to a team or to the hub (their admins)")
async def invite(request: Request, body: NewInvitation) -> InvitationMade:
    return await call(request, service.invite, body)


@router.get("/invitations", "List the invitations that the caller may revoke")
async def list_invitations(request: Request, query: InvitationQuery) -> InvitationList:
    return await call(request, service.list_invitations, query.team)


@router.delete("/invitations/{invitation_id}", "Revoke an invitation")
async def revoke(request: Request) -> Done:
    wanted = request.path_params["invitation_id"]
    return await call(request, service.revoke_invitation, wanted)


# --- For those who are invited; the token is never in an address ---


@router.post("/invitations/show", "Show what a token is an invitation to", needs_key=False)
async def show(request: Request, body: ShownToken) -> Invitation:
    return await call(request, joining.show_invitation, body.token)


@router.post(
    "/invitations/accept",
    "Join a team, or without a key sign up; the answer then has the new user's first key",
    needs_key=False,
)
async def accept(request: Request, body: Acceptance) -> Accepted:
    return await call(request, joining.accept_invitation, body)


_FIELDS = frozenset({"invitation", "user"})


@router.page(JOIN_PAGE)
async def invited(request: Request) -> Response:
    """The page of every link: its address has the token, which only the browser knows."""
    return answer_page(request, invitation_page())


@router.page(JOIN_PAGE, "POST")
async def sign_up(request: Request) -> Response:
    """The same without our client: what official clients need is a key."""
    try:
        form = await read_form(request)
        if unknown := sorted(form.keys() - _FIELDS):
            raise UsageError(f"`{unknown[0][:80]}` is not a field of this form")
        token = TOKEN.search(form.get("invitation", ""))
        if token is None:
            raise UsageError(f"An invitation contains `{TOKEN_PREFIX}...`", hint="paste all of it")
        given = Acceptance(token[0], form.get("user") or None)
        joined = await call(request, joining.accept_invitation, given)
    except PrimeError as error:
        shown = withhold_inside(request, error)
        return answer_page(request, invitation_page(shown), shown)
    return answer_page(request, joined_page(joined.user, joined.team, joined.key))
