"""Addresses with and without a slash at the end are the same."""

from starlette.types import ASGIApp, Receive, Scope, Send


class IgnoreTrailingSlash:
    """Takes the last slash off a path before it is routed.

    Clients of different releases write either, and a redirect would lose the body of a POST.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and len(scope["path"]) > 1:
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self.app(scope, receive, send)
