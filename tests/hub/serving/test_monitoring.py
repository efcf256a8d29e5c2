"""Health checks and metrics."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.serving.monitoring import HealthMiddleware, Metrics
from prime_cli.hub.serving.server import make_admin
from tests.hub.pushing import settings_for
from tests.hub.serving.asgi import ask, echo
from tests.hub.serving.clocks import Clock

# --- Health ---

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
    answer = ask(app, "/readyz", state={"near": True})
    assert answer.status == 503
    assert "counters" in answer.json["problems"]["database"]
    # The reasons name addresses and folders, which are for this machine alone.
    assert ask(app, "/readyz", state=FAR).json["problems"] == {"database": "not available"}
    with hub.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO counters")
    assert ask(app, "/readyz", state=FAR).status == 503
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


# --- Metrics ---

SCRIPT = """
import sys
from prime_cli.hub.serving.monitoring import Metrics
metrics = Metrics()
metrics.count("/a", "GET", 200, seconds=0.1, sent=5, received=0)
metrics.uploads.inc()
if sys.argv[1] == "show":
    sys.stdout.write(metrics.render().decode())
"""
FORGET = """
import sys
from pathlib import Path
from prime_cli.hub.serving.monitoring import Metrics, forget_dead_processes
forget_dead_processes(Path(sys.argv[1]))
sys.stdout.write(Metrics().render().decode())
"""


def run(folder: Path, script: str, argument: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, argument],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def test_any_process_shows_the_numbers_of_all(tmp_path: Path) -> None:
    run(tmp_path, SCRIPT, "count")
    shown = run(tmp_path, SCRIPT, "show")
    assert 'prime_hub_requests_total{method="GET",route="/a",status="200"} 2.0' in shown
    assert "prime_hub_sent_bytes_total 10.0" in shown


def test_what_a_dead_process_had_under_way_is_forgotten(tmp_path: Path) -> None:
    run(tmp_path, SCRIPT, "count")
    shown = run(tmp_path, FORGET, str(tmp_path))
    assert "prime_hub_uploads_in_flight 0.0" in shown
    assert "prime_hub_sent_bytes_total 5.0" in shown
