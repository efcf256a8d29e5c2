"""Who one is here, and what this hub can do."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli import __version__
from prime_cli.hub.routes.answers import answer, enveloped
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


ROUTES = [
    Route("/user/whoami", whoami),
    Route("/user/teams", teams),
    Route("/capabilities", capabilities),
]
