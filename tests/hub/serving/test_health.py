"""What watches a hub: whether it runs, whether it can answer, and how busy it is."""

from pathlib import Path

import pytest

from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.serving.health import HealthMiddleware
from prime_cli.hub.serving.metrics import Metrics
from prime_cli.hub.serving.startup import make_admin
from tests.hub.pushing import settings_for
from tests.hub.serving.asgi import ask, echo
from tests.hub.serving.clocks import Clock

FAR = {"near": False}


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    data = tmp_path / "hub"
    return open_hub(settings_for(data, "", accounts=True, embedded=False))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(hub: Hub, clock: Clock) -> HealthMiddleware:
    return HealthMiddleware(echo, hub=hub, metrics=Metrics(), clock=clock)


def test_process_that_runs_is_healthy(app: HealthMiddleware) -> None:
    assert ask(app, "/healthz").json == {"status": "ok"}


def test_other_addresses_are_the_hubs(app: HealthMiddleware) -> None:
    assert ask(app, "/healthz/more").body == b"0"


def test_hub_whose_parts_answer_is_ready(app: HealthMiddleware) -> None:
    answer = ask(app, "/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ready"})


def test_hub_without_its_database_is_not_ready_and_says_why(
    app: HealthMiddleware, hub: Hub, clock: Clock
) -> None:
    with hub.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE counters RENAME TO elsewhere")
    answer = ask(app, "/readyz")
    assert answer.status == 503
    assert list(answer.json["problems"]) == ["database"]
    with hub.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO counters")
    assert ask(app, "/readyz").status == 503
    clock.pass_by(1.1)
    assert ask(app, "/readyz").status == 200


def test_metrics_are_shown_on_this_machine(app: HealthMiddleware) -> None:
    answer = ask(app, "/metrics", state={"near": True})
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert b"prime_hub_publishes_total 0.0" in answer.body


def test_metrics_are_shown_to_admins_elsewhere(app: HealthMiddleware, hub: Hub) -> None:
    key = make_admin(hub, "boss")
    for headers, status in (
        ({}, 401),
        ({"authorization": "Bearer guess"}, 401),
        ({"authorization": f"Bearer {key}"}, 200),
    ):
        assert ask(app, "/metrics", headers=headers, state=FAR).status == status
