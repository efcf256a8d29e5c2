"""Logging in: the client's requests, the page where its user approves, and signing in for it."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prime_cli.core.errors import NotAllowed, NotFound, PrimeError, UsageError
from prime_cli.hub.browser_cookies import FORM_FIELD, act_for_form, session_of
from prime_cli.hub.dispatch import caller_of, hub_of, run, run_outside, run_write
from prime_cli.hub.identity.sign_in import SECONDS, SignIn, SignInClient
from prime_cli.hub.middleware import read_keys
from prime_cli.hub.routes.browser_sessions import code_of_browser, finish_login
from prime_cli.hub.routes.requests import read_form
from prime_cli.hub.routes.responses import answer_page, withhold_inside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import identities, logins
from prime_cli.hub.urls import LOGIN_PAGE, SIGN_IN_PAGE, SIGN_IN_RETURN
from prime_cli.pages.login import (
    LoginRequest,
    SignedIn,
    SignInState,
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

_COOKIE = "prime_sign_in"

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
            return _forget_sign_in(answer_page(request, refused_page()))
        user = await _approve(request, form, code)
        if logins.read_code(code) == code_of_browser(request):
            return _forget_sign_in(finish_login())
        return _forget_sign_in(answer_page(request, approved_page(user)))
    except PrimeError as error:
        return await _ask_again(request, code, withhold_inside(request, error))


async def _approve(request: Request, form: dict[str, str], code: str) -> str:
    """The slug of the user who approves: signed in here or with a provider, or with a key."""
    hub, address = hub_of(request), caller_of(request).address
    if form["answer"] == "session":
        session = await act_for_form(request, form)
        return await run_write(hub, logins.approve_login_as, hub, session.caller, code)
    user = await _approve_signed_in(request, form)
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
    return approval_page(login, await _sign_in_state(request, login.code), problem, by)


# --- Signing in with a provider, to approve a login on its page ---


def _sign_in_client(request: Request) -> SignInClient | None:
    """What signs users in, if the hub has a provider."""
    client: SignInClient | None = request.app.state.sign_in
    return client


@router.page(SIGN_IN_PAGE)
async def begin_sign_in(request: Request) -> Response:
    """Send the browser to the provider."""
    hub, code = hub_of(request), request.query_params.get("code", "")
    try:
        client = _require(request)
        found = await run(hub, logins.find_login, hub, caller_of(request).address, code)
        url, begun = await run_outside(hub, client.begin, found.code)
    except PrimeError as error:
        return _answer_error(request, error)
    return await _redirect(request, client, url, begun)


@router.page(SIGN_IN_RETURN)
async def finish(request: Request) -> Response:
    """Take the browser back from the provider, to the page of its login."""
    hub = hub_of(request)
    try:
        client = _require(request)
        begun = await _read(request, client)
        if begun is None:
            raise NotAllowed(
                "This sign-in was not begun in this browser, or too long ago", hint="log in again"
            )
        answer = dict(request.query_params)
        identity = await run_outside(hub, client.finish, begun, answer)
    except PrimeError as error:
        return _forget_sign_in(_answer_error(request, error))
    done = SignIn(begun.code, begun.ends, identity=identity)
    return await _redirect(request, client, f"{LOGIN_PAGE}?code={begun.code}", done)


async def _sign_in_state(request: Request, code: str) -> SignInState | None:
    """What the page of the login `code` shows of a provider."""
    client = _sign_in_client(request)
    if client is None:
        return None
    found = await _read(request, client)
    href = f"{SIGN_IN_PAGE}?code={code}"
    if found is None or found.identity is None or found.code != code:
        return SignInState(client.settings.name, href)
    hub, identity = hub_of(request), found.identity
    user = await run(hub, identities.find_user_of, hub, identity)
    who = identity.email or identity.username or identity.subject
    if user is not None:
        return SignInState(client.settings.name, href, who, user)
    suggested = await run(hub, identities.suggest_slug, hub, identity)
    return SignInState(
        client.settings.name, href, who, suggested=suggested, sign_up=client.settings.sign_up
    )


async def _approve_signed_in(request: Request, form: dict[str, str]) -> str | None:
    """Let a client in as the user who has signed in; None if nobody has.

    `answer` also says whether a new user is to be created, or one to be connected. Raises what the
    services raise.
    """
    client = _sign_in_client(request)
    found = await _read(request, client) if client else None
    code = logins.read_code(form.get("code", ""))
    if found is None or found.identity is None or found.code != code:
        if form["answer"] in ("create", "connect"):
            raise NotAllowed("The sign-in has ended", hint="sign in again")
        return None
    hub, address, identity = hub_of(request), caller_of(request).address, found.identity
    if form["answer"] == "create":
        slug = form.get("user", "")
        await run_write(hub, identities.create_user_of, hub, address, identity, slug)
    elif form["answer"] == "connect":
        key = form.get("key", "")
        await run_write(hub, identities.connect_user_of, hub, address, identity, key)
    elif form.get("key"):
        return None
    return await run_write(hub, identities.approve_login_by, hub, address, identity, code)


def _forget_sign_in(response: Response) -> Response:
    """The response, after which the browser is signed in no longer."""
    response.delete_cookie(_COOKIE, path=LOGIN_PAGE)
    return response


def _answer_error(request: Request, error: PrimeError) -> Response:
    shown = withhold_inside(request, error)
    return answer_page(request, code_page(shown), shown)


def _require(request: Request) -> SignInClient:
    client = _sign_in_client(request)
    if client is None:
        raise UsageError("This hub has no provider to sign in with", hint="use an API key")
    return client


async def _read(request: Request, client: SignInClient) -> SignIn | None:
    return await run(hub_of(request), client.unseal, request.cookies.get(_COOKIE))


async def _redirect(request: Request, client: SignInClient, url: str, value: SignIn) -> Response:
    response = RedirectResponse(url, 303, headers={"cache-control": "no-store"})
    response.set_cookie(
        _COOKIE,
        await run(hub_of(request), client.seal, value),
        max_age=SECONDS,
        path=LOGIN_PAGE,
        secure=hub_of(request).settings.public_url.startswith("https:"),
        httponly=True,
        # The return comes from the provider's site.
        samesite="lax",
    )
    return response
