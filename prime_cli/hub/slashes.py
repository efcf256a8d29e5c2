"""Addresses with and without a slash at the end are the same."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class IgnoreTrailingSlash:
    """Takes the last slash off a path before it is routed.

    Clients of different releases write either, and a redirect would lose the body of a POST.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and len(scope["path"]) > 1:
            asked = scope["path"]
            # Not a copy: what watches the request from outside reads the endpoint in its scope.
            scope.update(path=asked.rstrip("/") or "/", asked_path=asked)
        await self.app(scope, receive, send)


def asked_path(request: Request) -> str:
    """The path with the slash that it came with, if any."""
    return str(request.scope.get("asked_path", request.url.path))
