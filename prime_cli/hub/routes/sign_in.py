"""Signing in with a provider, to approve a login on its page."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prime_cli.core.errors import NotAllowed, PrimeError, UsageError
from prime_cli.hub.dispatch import caller_of, hub_of, run, run_outside, run_write
from prime_cli.hub.identity.sign_in import SECONDS, SignIn, SignInClient
from prime_cli.hub.routes.responses import answer_page, withhold_inside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import identities, logins
from prime_cli.hub.urls import LOGIN_PAGE, SIGN_IN_PAGE, SIGN_IN_RETURN
from prime_cli.pages.login import SignInState, code_page

router = Router()

_COOKIE = "prime_sign_in"


def client_of(request: Request) -> SignInClient | None:
    """What signs users in, if the hub has a provider."""
    client: SignInClient | None = request.app.state.sign_in
    return client


@router.page(SIGN_IN_PAGE)
async def begin(request: Request) -> Response:
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
        return forget(_answer_error(request, error))
    done = SignIn(begun.code, begun.ends, identity=identity)
    return await _redirect(request, client, f"{LOGIN_PAGE}?code={begun.code}", done)


async def state_of(request: Request, code: str) -> SignInState | None:
    """What the page of the login `code` shows of a provider."""
    client = client_of(request)
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


async def approve(request: Request, form: dict[str, str]) -> str | None:
    """Let a client in as the user who has signed in; None if nobody has.

    `answer` also says whether a new user is to be created, or one to be connected. Raises what the
    services raise.
    """
    client = client_of(request)
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


def forget(response: Response) -> Response:
    """The response, after which the browser is signed in no longer."""
    response.delete_cookie(_COOKIE, path=LOGIN_PAGE)
    return response


def _answer_error(request: Request, error: PrimeError) -> Response:
    shown = withhold_inside(request, error)
    return answer_page(request, code_page(shown), shown)


def _require(request: Request) -> SignInClient:
    client = client_of(request)
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
