"""Somebody without an account rents the machine they sit at, and gives it back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.local_pods import wait_until
from tests.journeys.somebody import Somebody, pods_left, processes_of, require_ssh

pytestmark = pytest.mark.machine


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Somebody]:
    """Ada, whose home is empty and whose hub is in the box."""
    require_ssh()
    ada = Somebody(tmp_path / "ada")
    yield ada
    for pod in ada.prime("pods", "list", "--output", "json").json["pods"]:
        ada.prime("pods", "terminate", pod["id"], "--yes")


def test_pod_is_found_rented_reached_used_and_given_back(ada: Somebody) -> None:
    (offer,) = ada.prime("availability", "list", "--output", "json").ok().json["gpu_resources"]
    assert offer["provider"] == "local"
    argv = ("--id", offer["id"], "--name", "box", "--for", "2h", "--env", "WORD=swordfish")
    ada.prime("pods", "create", *argv, "--yes", "--wait").ok()
    assert list(processes_of(ada.pods_folder)) != []

    here = ada.prime("pods", "exec", "box", "--", "hostname").ok().out
    assert ada.prime("pods", "ssh", "box", "--", "hostname").ok().out == here
    assert "prime-box" in ada.aliases
    assert (
        ada.prime("pods", "exec", "box", "--", "sh", "-c", "echo $WORD").ok().out == "swordfish\n"
    )
    assert ada.prime("pods", "exec", "box", "--", "sh", "-c", "exit 7").code == 7
    assert ada.prime("pods", "exec", "box", "--", "cat", stdin="through").ok().out == "through"

    (ada.home / "note.txt").write_text("hello", encoding="utf-8")
    ada.prime("pods", "cp", "note.txt", "box:").ok()
    assert ada.prime("pods", "exec", "box", "--", "cat", "note.txt").ok().out == "hello"
    ada.prime("pods", "cp", "box:note.txt", "back.txt").ok()
    assert (ada.home / "back.txt").read_text(encoding="utf-8") == "hello"

    status = ada.prime("pods", "status", "box", "--output", "json").ok().json
    assert (status["status"], status["name"]) == ("ACTIVE", "box")
    (pod,) = ada.prime("pods", "list", "--output", "json").ok().json["pods"]
    assert pod["id"] == status["id"]
    assert "ready" in ada.prime("pods", "logs", "box").ok().out

    ada.prime("pods", "terminate", "box", "--yes").ok()
    assert ada.prime("pods", "list", "--output", "json").ok().json["pods"] == []
    (past,) = ada.prime("pods", "history", "--output", "json").ok().json["history"]
    assert (past["id"], past["name"]) == (status["id"], "box")
    assert ada.prime("pods", "exec", "box", "--", "true").code == 6
    nothing_is_left(ada)


def test_a_pod_ends_itself_at_its_deadline(ada: Somebody) -> None:
    """Its keeper does: there is no hub between two commands."""
    ada.prime(
        "pods", "create", "--gpu-type", "CPU_NODE", "--name", "brief", "--for", "5s", "--yes"
    ).ok()
    wait_until(lambda: not pods_left(ada.pods_folder), what="the pod is gone by itself")
    (past,) = ada.prime("pods", "history", "--output", "json").ok().json["history"]
    assert past["name"] == "brief"
    ada.prime("gc", "--yes").ok()
    nothing_is_left(ada)


def nothing_is_left(somebody: Somebody) -> None:
    """No process, no folder, no alias and no host key."""
    assert pods_left(somebody.pods_folder) == []
    wait_until(lambda: not list(processes_of(somebody.pods_folder)), what="processes are gone")
    assert "prime-" not in somebody.aliases.replace(str(somebody.home), "")
    assert somebody.known_hosts == []
