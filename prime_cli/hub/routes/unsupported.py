"""Addresses below the API that official clients ask and this hub does not have, with the reason."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.hub.routes.responses import answer
from prime_cli.hub.routes.router import ANYTHING
from prime_cli.wire.problems import WHOLE_REQUEST, Problem, Wrong

_NO_TRACES = "This hub stores no traces; set PRIME_TRACES_OPT_OUT=1"
_REASONS = {
    "billing": "This hub has no billing",
    "deployments": "This hub deploys no models",
    "environmentshub/{owner}/{name}/actions": (
        "This hub runs no actions for environments; use `prime env check`"
    ),
    "episodes": _NO_TRACES,
    "factory": "This hub has no image factory",
    "feedback": "This hub takes no feedback",
    "hosted-evaluations": "This hub runs no evaluations; use `prime eval run`",
    "images": "This hub builds no images",
    "rft": "This hub trains no models",
    "runs": _NO_TRACES,
    "sandbox": "Sandboxes of this hub cannot do that; see `prime sandbox --help`",
    "slurm-clusters": "This hub has no Slurm clusters",
    "template": "This hub keeps no credentials of image registries",
    "traces": _NO_TRACES,
    "training": "This hub trains no models",
    "tunnel": "This hub has no tunnels",
}
"""By the beginning of the path below the API (official clients 0.3 to 0.18)."""

_NO_MODELS = "This hub serves no models; its admin can with `prime hub serve --endpoints`"
_OF_MODELS = {"chat": _NO_MODELS, "models": _NO_MODELS}


def routes(*, has_models: bool = False) -> list[Route]:
    """A route for each, under any method: 501 with the reason.

    An empty list would mean that there are none, and 404 that this one is gone.
    """
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return [
        Route(f"/{area}{ANYTHING}", _refusal(reason), methods=methods)
        for area, reason in (({} if has_models else _OF_MODELS) | _REASONS).items()
    ]


def _refusal(reason: str) -> Callable[[Request], Awaitable[Response]]:
    async def refuse(_request: Request) -> Response:
        # The published form of errors, for clients that read no other.
        problem = Problem(detail=reason, errors=[Wrong(WHOLE_REQUEST, reason)])
        return answer(problem, HTTPStatus.NOT_IMPLEMENTED)

    return refuse
