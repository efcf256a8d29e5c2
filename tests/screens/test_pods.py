"""Pods at a terminal: watched, and ended after a question."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_hub import Reply, ScriptedHub, Seen
from tests.helpers.terminal import Terminal
from tests.screens.asking import CTRL_C, decline_then_agree
from tests.screens.watching import CURSOR_HIDDEN, CURSOR_SHOWN, watch

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal")]

POD = {
    "id": "1f2e3d4c5b6a",
    "name": "web",
    "gpuName": "A100_80GB",
    "gpuCount": 1,
    "status": "PROVISIONING",
    "createdAt": "2026-11-21T12:00:00Z",
    "priceHr": 1.65,
    "providerType": "paper",
}
LEAK = {"kind": "disk that nobody has", "id": "d1", "name": "data", "provider": "paper"}


class Rented:
    """A hub with the pod `web`, which needs `looks` after it was ended until it is gone."""

    def __init__(self, hub: ScriptedHub) -> None:
        self.pod: dict[str, Any] = dict(POD)
        self.looks = 0
        self.ends = 0
        hub.answers |= {
            "GET /pods/": lambda _: Reply({"data": [self.pod], "total_count": 1}),
            "GET /pods/status": self._state,
            "DELETE /pods/1f2e3d4c5b6a": self._end,
            "POST /pods/sweep": self._sweep,
            "GET /capabilities": lambda _: Reply(
                {"hub": "prime", "version": "1", "features": ["pods"]}
            ),
        }

    def _state(self, _: Seen) -> Reply:
        self.looks -= 1
        left = [{"podId": self.pod["id"], "status": "DELETING"}] if self.looks >= 0 else []
        return Reply({"data": left})

    def _end(self, _: Seen) -> Reply:
        self.ends += 1
        return Reply({"status": "DELETING"})

    def _sweep(self, seen: Seen) -> Reply:
        dry_run = seen.body.get("dryRun", False)
        self.ends += not dry_run
        return Reply({"leaks": [LEAK | {"ended": not dry_run}]})


@pytest.fixture
def rented(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rented]:
    with ScriptedHub() as hub:
        monkeypatch.setenv("PRIME_API_BASE_URL", hub.url)
        monkeypatch.setenv("PRIME_API_KEY", "prime_sk_1234567890")
        yield Rented(hub)


def test_pods_are_ended_after_a_yes(rented: Rented, tmp_path: Path) -> None:
    decline_then_agree(
        *("pods", "terminate", "web"),
        asked="Terminate `web` and all data on it?",
        kept="Nothing was terminated",
        state=lambda: rented.ends,
        cwd=tmp_path,
    )


def test_what_a_pod_came_to_is_shown_before_the_question_also_when_quiet(
    rented: Rented, tmp_path: Path
) -> None:
    with Terminal("pods", "terminate", "web", "-q", cwd=tmp_path) as terminal:
        shown = terminal.wait_for("[y/N]")
        assert "web: A100_80GB x1, PROVISIONING, " in shown.partition("Terminate")[0]
        terminal.type("n\n")
        assert terminal.end() == 130
    assert rented.ends == 0


def test_leaks_are_ended_after_a_yes(rented: Rented, tmp_path: Path) -> None:
    decline_then_agree(
        "gc",
        asked="Terminate it and its data?",
        kept="Nothing was terminated",
        state=lambda: rented.ends,
        cwd=tmp_path,
    )


def test_ending_pods_is_shown(rented: Rented, tmp_path: Path) -> None:
    rented.looks = 1
    watch("pods", "terminate", "web", "--yes", cwd=tmp_path, shown="Terminating pods")
    assert rented.ends == 1


@pytest.mark.parametrize("columns", [80, 40])
def test_pods_are_watched_in_one_place_until_ctrl_c(
    columns: int, rented: Rented, tmp_path: Path
) -> None:
    with Terminal("pods", "list", "--watch", cwd=tmp_path, columns=columns) as terminal:
        shown = terminal.wait_for("Ctrl-C to stop")
        assert "1 pod at $1.65/h" in shown
        rented.pod |= {"status": "ACTIVE", "name": "renamed", "installationStatus": "FINISHED"}
        shown = terminal.wait_for("renamed")
        assert "web" not in shown
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.is_clean
        assert "Traceback" not in terminal.text
        assert "renamed" in terminal.text
    assert CURSOR_HIDDEN in terminal.written
    assert terminal.written.rfind(CURSOR_SHOWN) > terminal.written.rfind(CURSOR_HIDDEN)
