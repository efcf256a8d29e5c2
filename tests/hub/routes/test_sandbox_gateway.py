"""Who enters a sandbox of a hub with accounts, and as whom: its tokens are not keys."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from sqlalchemy import update
from starlette.types import ASGIApp

from prime_cli.hub.db.tables import sandboxes
from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.services.takedowns import take_down
from prime_cli.hub.serving.limits import RateLimitMiddleware, Rates
from prime_cli.hub.settings import SandboxSettings
from prime_cli.wire.accounts import NewTakedown
from tests.helpers.sandboxes import Inside, create, ended_supervisor
from tests.helpers.tools import needs_bubblewrap
from tests.hub.accounts_hub import OPERATOR, AccountsHub, Clock
from tests.hub.serving.asgi import request

pytestmark = needs_bubblewrap


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountsHub]:
    """A hub for members only."""
    data, clock = tmp_path_factory.mktemp("members") / "hub", Clock()
    # Sandboxes end by the clock of the machine.
    clock.now = datetime.now(UTC)
    settings = SandboxSettings(providers=("bubblewrap",), users_trust_each_other=True)
    with ended_supervisor(data):
        yield AccountsHub(data, clock=clock, settings={"members_only": True, "sandboxes": settings})


def test_a_token_opens_its_sandbox_on_a_hub_for_members_only(hub: AccountsHub) -> None:
    ada = hub.user("ada")
    inside = Inside(ada, create(ada)["id"])
    # As a client that has the token and no key.
    inside.client = hub.client()
    assert inside.run("echo inside")["stdout"] == "inside\n"
    assert hub.client(inside.headers["authorization"].split()[1]).get("/").status_code == 401


def test_commands_are_as_many_as_the_requests_of_a_key(hub: AccountsHub) -> None:
    bob = hub.user("bob")
    inside = Inside(bob, create(bob)["id"])
    limited = RateLimitMiddleware(hub.app, Rates(key=0.1, address=0.1, stranger=0.1, burst=10))
    # The first of a token counts as that of a stranger, of whom this hub takes one at once.
    statuses = [_run_from_elsewhere(limited, inside) for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_nobody_enters_a_sandbox_of_a_suspended_user(hub: AccountsHub) -> None:
    eve = hub.user("eve")
    inside = Inside(eve, create(eve)["id"])
    assert inside.run("true")["exit_code"] == 0
    take_down(hub.hub, OPERATOR, NewTakedown("eve", "mining"))
    assert inside.post("exec", json={"command": "true"}).status_code == 401


def test_a_sandbox_of_another_server_is_asked_for_again_later(hub: AccountsHub) -> None:
    dan = hub.user("dan")
    inside = Inside(dan, create(dan)["id"])
    with hub.hub.database.write() as connection:
        connection.execute(update(sandboxes).values(holder="another"))
    refused = inside.post("exec", json={"command": "true"})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["detail"] == "Another server of this hub has the sandbox"


def test_users_are_not_told_where_the_supervisor_is(hub: AccountsHub) -> None:
    fay = hub.user("fay")
    inside = Inside(fay, create(fay)["id"])
    Supervisor(hub.data).stop()
    refused = inside.post("exec", json={"command": "true"})
    assert refused.status_code == 503
    assert refused.json()["detail"] == "A service that this hub needs does not answer"


def _run_from_elsewhere(app: ASGIApp, inside: Inside) -> int:
    """The status of a command whose client is on another machine."""
    content = b'{"command": "true"}'
    headers = {**inside.headers, "content-length": str(len(content))}
    answer = asyncio.run(
        request(
            app,
            f"{urlsplit(inside.url).path}/exec",
            method="POST",
            headers=headers,
            body=[content],
            state={"near": False, "address": "192.0.2.7"},
        )
    )
    return answer.status
