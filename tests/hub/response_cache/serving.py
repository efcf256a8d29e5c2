"""A served hub in this process, seen by somebody without a key."""

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from prime_cli.hub.app import create_app
from prime_cli.hub.settings import HubSettings
from tests.helpers.database import database_of

JSON = {"accept": "application/vnd.pypi.simple.v1+json"}


class Counting:
    """Passes requests on, and counts those that an application is asked itself."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.count += scope["type"] == "http"
        await self.app(scope, receive, send)


def served_app(data: Path, **settings: Any) -> Starlette:
    """The application as it is served, with accounts."""
    return create_app(
        HubSettings(
            data=data,
            owner="ada",
            embedded=False,
            accounts=True,
            database=database_of(data),
            **settings,
        )
    )


def anonymous(data: Path, **settings: Any) -> TestClient:
    """Somebody without a key at a served hub; use it as a context, so that it keeps one loop."""
    return TestClient(
        served_app(data, **settings), base_url="http://hub.local", follow_redirects=False
    )
