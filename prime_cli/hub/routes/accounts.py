"""Who one is here, and what this hub can do."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli import __version__
from prime_cli.hub.routes.answers import answer, enveloped
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.reading import caller_of
from prime_cli.wire.accounts import Account, TeamPage
from prime_cli.wire.locks import Capabilities


async def whoami(request: Request) -> Response:
    slug = caller_of(request).slug
    return enveloped(Account(id=f"local_{slug}", name=slug, slug=slug))


async def teams(_request: Request) -> Response:
    return answer(TeamPage(data=[]))


async def capabilities(_request: Request) -> Response:
    return answer(Capabilities(hub="prime", version=__version__, features=["locks"]))


OPERATIONS = (
    Operation("GET", "/user/whoami", whoami, "Who one is here", answers=Account, needs_key=True),
    Operation(
        "GET",
        "/user/teams",
        teams,
        "List the teams one is in",
        answers=TeamPage,
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
