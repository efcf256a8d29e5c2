"""Logging in: the client's requests, and the page where its user approves them."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.middleware import read_keys
from prime_cli.hub.routes.operations import Operation, Text
from prime_cli.hub.routes.requests import caller_of, read_form, read_json
from prime_cli.hub.routes.responses import answer, answer_page
from prime_cli.hub.services import logins
from prime_cli.pages.html import Page
from prime_cli.pages.login import (
    LoginRequest,
    render_approval_form,
    render_approved,
    render_code_form,
    render_refused,
)
from prime_cli.wire.accounts import ChallengeRequest, ChallengeStatus, ChallengeTicket
from prime_cli.wire.problems import status_of

# --- The client ---

_CHALLENGE = Text("challenge", "Code of the login challenge", longest=100)


async def begin(request: Request) -> Response:
    wanted = await read_json(request, ChallengeRequest)
    args = hub_of(request), caller_of(request).address, wanted.encryption_public_key
    return answer(await call(request, logins.begin_login, *args))


async def poll(request: Request) -> Response:
    tokens = read_keys(request.headers.get("authorization", ""))
    code = _CHALLENGE.read(request) or ""
    args = hub_of(request), code, tokens[0] if tokens else ""
    return answer(await call(request, logins.poll_login, *args))


OPERATIONS = (
    Operation(
        "POST",
        "/auth_challenge/generate",
        begin,
        "Start a login",
        answers=ChallengeTicket,
        takes=ChallengeRequest,
        enveloped=False,
    ),
    Operation(
        "GET",
        "/auth_challenge/status",
        poll,
        "Check whether a login was approved; authenticate with the token of the challenge",
        answers=ChallengeStatus,
        query=(_CHALLENGE,),
        enveloped=False,
    ),
)


# --- The browser ---

_PATH = "/dashboard/tokens/challenge"
_FIELDS = frozenset({"code", "key", "answer"})


async def show(request: Request) -> Response:
    code = request.query_params.get("code", "")
    if not code:
        return answer_page(render_code_form())
    try:
        login = await _find(request, code)
    except PrimeError as error:
        return _answer_problem(render_code_form(error), error)
    return answer_page(render_approval_form(login))


async def decide(request: Request) -> Response:
    code = ""
    try:
        form = await read_form(request)
        code = form.get("code", "")
        _check_fields(form)
        if form["answer"] == "refuse":
            args = hub_of(request), caller_of(request).address, code
            await call(request, logins.refuse_login, *args)
            return answer_page(render_refused())
        key = form.get("key", "")
        address = caller_of(request).address
        user = await call(request, logins.approve_login, hub_of(request), address, code, key)
        return answer_page(render_approved(user))
    except PrimeError as error:
        return await _ask_again(request, code, error)


def _check_fields(form: dict[str, str]) -> None:
    """Raise UsageError for what this page does not send: dropped, it might grant too much."""
    unknown = sorted(form.keys() - _FIELDS)
    if unknown:
        raise UsageError(f"`{unknown[0][:80]}` is not a field of this form")
    if form.get("answer") not in ("approve", "refuse"):
        raise UsageError("The form has no decision: approve or refuse")


async def _ask_again(request: Request, code: str, problem: PrimeError) -> Response:
    if isinstance(problem, NotFound):
        return _answer_problem(render_code_form(problem), problem)
    try:
        form = render_approval_form(await _find(request, code), problem)
    except PrimeError:
        form = render_code_form(problem)
    return _answer_problem(form, problem)


def _answer_problem(page: Page, problem: PrimeError) -> Response:
    return answer_page(page, status_of(problem))


async def _find(request: Request, code: str) -> LoginRequest:
    args = hub_of(request), caller_of(request).address, code
    login = await call(request, logins.find_login, *args)
    return LoginRequest(login.code, login.address, login.asked_at)


ROUTES = [
    Route(_PATH, show, methods=["GET"]),
    Route(_PATH, decide, methods=["POST"]),
]
