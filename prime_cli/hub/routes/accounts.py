"""Who one is here, the teams one is in, and what this hub can do."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli import __version__
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.answers import answer, enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number, Text
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services import identity
from prime_cli.hub.services import teams as service
from prime_cli.wire.accounts import Account, MemberPage, SlugRequest, TeamPage
from prime_cli.wire.evaluations import FEATURE, LOGS_FEATURE
from prime_cli.wire.locks import SIGNATURES_FEATURE as SIGNATURES
from prime_cli.wire.locks import Capabilities
from prime_cli.wire.pods import FEATURE as PODS

_TEAM = Text("teamId", "A team, to be told what the key may do as it")
_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)


async def whoami(request: Request) -> Response:
    args = hub_of(request), caller_of(request), _TEAM.read(request)
    return enveloped(await call(request, identity.whoami, *args))


async def change_slug(request: Request) -> Response:
    wanted = await read_json(request, SlugRequest)
    args = hub_of(request), caller_of(request), wanted.slug
    return enveloped(await call(request, identity.change_slug, *args))


async def teams(request: Request) -> Response:
    page = await call(
        request,
        service.list_own_teams,
        hub_of(request),
        caller_of(request),
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def members(request: Request) -> Response:
    page = await call(
        request,
        service.list_members,
        hub_of(request),
        caller_of(request),
        request.path_params["team_id"],
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def capabilities(request: Request) -> Response:
    settings = hub_of(request).settings
    features = [
        "locks",
        "checks",
        SIGNATURES,
        FEATURE,
        LOGS_FEATURE,
        "yank",
        "cursor",
        *(["keys"] if settings.accounts else []),
        *([PODS] if settings.providers else []),
    ]
    return answer(Capabilities(hub="prime", version=__version__, features=features))


OPERATIONS = (
    Operation(
        "GET",
        "/user/whoami",
        whoami,
        "Who one is here",
        answers=Account,
        query=(_TEAM,),
        needs_key=True,
    ),
    Operation(
        "PATCH",
        "/user/slug",
        change_slug,
        "Take another name",
        answers=Account,
        takes=SlugRequest,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/user/teams",
        teams,
        "List the teams one is in",
        answers=TeamPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/teams/{team_id}/members",
        members,
        "List the members of a team that one is in",
        answers=MemberPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/capabilities",
        capabilities,
        "What this hub has beyond the public wire format",
        answers=Capabilities,
        enveloped=False,
    ),
)
