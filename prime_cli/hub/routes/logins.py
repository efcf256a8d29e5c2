"""Logging in: the client's requests, and the page where its user approves them."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.hub.browser_cookies import FORM_FIELD, act_for_form, session_of
from prime_cli.hub.dispatch import caller_of, hub_of, run, run_write
from prime_cli.hub.middleware import read_keys
from prime_cli.hub.routes import sign_in
from prime_cli.hub.routes.browser_sessions import code_of_browser, finish_login
from prime_cli.hub.routes.requests import read_form
from prime_cli.hub.routes.responses import answer_page, withhold_inside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import logins
from prime_cli.hub.urls import LOGIN_PAGE
from prime_cli.pages.login import (
    LoginRequest,
    SignedIn,
    approval_page,
    approved_page,
    code_page,
    refused_page,
)
from prime_cli.pages.templates import Page
from prime_cli.wire.accounts import (
    ChallengeQuery,
    ChallengeRequest,
    ChallengeStatus,
    ChallengeTicket,
)

router = Router(enveloped=False)

# --- The client ---


@router.post("/auth_challenge/generate", "Start a login")
async def begin(request: Request, body: ChallengeRequest) -> ChallengeTicket:
    hub, address = hub_of(request), caller_of(request).address
    return await run_write(hub, logins.begin_login, hub, address, body.encryption_public_key)


@router.get(
    "/auth_challenge/status",
    "Check whether a login was approved; authenticate with the token of the challenge",
)
async def poll(request: Request, query: ChallengeQuery) -> ChallengeStatus:
    hub = hub_of(request)
    tokens = read_keys(request.headers.get("authorization", ""))
    token = tokens[0] if tokens else ""
    return await run(hub, logins.poll_login, hub, query.challenge, token)


# --- The browser ---

_FIELDS = frozenset({"code", "key", "user", "answer", FORM_FIELD})
_ANSWERS = ("approve", "create", "connect", "refuse", "session")


@router.page(LOGIN_PAGE)
async def show(request: Request) -> Response:
    code = request.query_params.get("code", "")
    if not code:
        return answer_page(request, code_page())
    try:
        login = await _find(request, code)
    except PrimeError as error:
        shown = withhold_inside(request, error)
        return answer_page(request, code_page(shown), shown)
    return answer_page(request, await _form(request, login))


@router.page(LOGIN_PAGE, "POST")
async def decide(request: Request) -> Response:
    hub, address = hub_of(request), caller_of(request).address
    code = ""
    try:
        form = await read_form(request)
        code = form.get("code", "")
        _check_fields(form)
        if form["answer"] == "refuse":
            await run_write(hub, logins.refuse_login, hub, address, code)
            return sign_in.forget(answer_page(request, refused_page()))
        user = await _approve(request, form, code)
        if logins.read_code(code) == code_of_browser(request):
            return sign_in.forget(finish_login())
        return sign_in.forget(answer_page(request, approved_page(user)))
    except PrimeError as error:
        return await _ask_again(request, code, withhold_inside(request, error))


async def _approve(request: Request, form: dict[str, str], code: str) -> str:
    """The slug of the user who approves: signed in here or with a provider, or with a key."""
    hub, address = hub_of(request), caller_of(request).address
    if form["answer"] == "session":
        session = await act_for_form(request, form)
        return await run_write(hub, logins.approve_login_as, hub, session.caller, code)
    user = await sign_in.approve(request, form)
    if user is not None:
        return user
    return await run_write(hub, logins.approve_login, hub, address, code, form.get("key", ""))


def _check_fields(form: dict[str, str]) -> None:
    """Raise UsageError for what this page does not send: dropped, it might grant too much."""
    unknown = sorted(form.keys() - _FIELDS)
    if unknown:
        raise UsageError(f"`{unknown[0][:80]}` is not a field of this form")
    if form.get("answer") not in _ANSWERS:
        raise UsageError("The form has no decision: approve or refuse")


async def _ask_again(request: Request, code: str, problem: PrimeError) -> Response:
    if isinstance(problem, NotFound):
        return answer_page(request, code_page(problem), problem)
    try:
        login = await _find(request, code)
        form = await _form(request, login, problem)
    except PrimeError:
        form = code_page(problem)
    return answer_page(request, form, problem)


async def _find(request: Request, code: str) -> LoginRequest:
    hub = hub_of(request)
    login = await run(hub, logins.find_login, hub, caller_of(request).address, code)
    return LoginRequest(login.code, login.address, login.asked_at)


async def _form(request: Request, login: LoginRequest, problem: PrimeError | None = None) -> Page:
    """The form, for a signed-in browser without the field for a key.

    What it approves ends with its key: not one that was made for the browser, and ends soon.
    """
    session = await session_of(request)
    by = None
    if session is not None and session.caller.slug and not session.owns_key:
        by = SignedIn(session.caller.slug, session.form_token)
    return approval_page(login, await sign_in.state_of(request, login.code), problem, by)
