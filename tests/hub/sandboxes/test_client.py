"""Starting a supervisor, and what it and its files say."""

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.sandboxes.supervisor.protocol import ObservedState
from tests.helpers.sandboxes import IMAGE, ended_supervisor
from tests.helpers.scripted_engine import scripted_engine
from tests.helpers.tools import needs_bubblewrap

PROVIDERS = ("engine", "bubblewrap")


@pytest.mark.parametrize("code", [0, 1])
def test_a_supervisor_that_does_not_start_gives_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho No module named aiohttp >&2; exit {code}\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with pytest.raises(StorageFailed) as raised:
        Supervisor(tmp_path / "data").start()
    assert raised.value.detail == "No module named aiohttp"


_ENDS = """
import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(flush=True)
time.sleep(0.5)
"""


@needs_bubblewrap
def test_a_supervisor_is_started_as_soon_as_the_one_before_has_ended(tmp_path: Path) -> None:
    with ended_supervisor(tmp_path) as supervisor:
        supervisor.paths.folder.mkdir()
        words = [sys.executable, "-c", _ENDS, str(supervisor.paths.lock)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as ending:
            assert ending.stdout is not None
            ending.stdout.readline()
            supervisor.start()
            assert ending.wait() == 0
        assert supervisor.is_alive


def test_only_the_sandboxes_that_are_asked_for_are_looked_at(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    supervisor.paths.folder.mkdir()
    for tag in ("prime-h-1", "prime-h-2"):
        ended = msgspec.json.encode(ObservedState("TERMINATED", error_message=tag))
        (supervisor.paths.folder / f"{tag}.json").write_bytes(ended)
    (supervisor.paths.folder / "prime-h-3.json").write_bytes(b"{")
    found = supervisor.list_states(["prime-h-2", "prime-h-3", "prime-h-4"])
    assert {tag: state.error_message for tag, state in found.items()} == {"prime-h-2": "prime-h-2"}


def spec(tag: str) -> SandboxSpec:
    return SandboxSpec(tag, tag, IMAGE, time.time() + 60)


@needs_bubblewrap
def test_a_supervisor_that_holds_nothing_uses_an_engine_that_is_named_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ended_supervisor(tmp_path / "data") as supervisor:
        assert supervisor.check(PROVIDERS, spec("prime-h-1")).provider == "bubblewrap"
        with scripted_engine(tmp_path / "e.sock") as url:
            monkeypatch.setenv("CONTAINER_HOST", url)
            checked = supervisor.check(PROVIDERS, spec("prime-h-2"))
    assert (checked.provider, checked.differs) == ("engine", [])


@needs_bubblewrap
def test_one_that_holds_a_sandbox_says_that_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ended_supervisor(tmp_path / "data") as supervisor:
        held = supervisor.create("bubblewrap", spec("prime-h-1"), 30)
        monkeypatch.setenv("CONTAINER_HOST", "unix:///nowhere/e.sock")
        checked = supervisor.check(PROVIDERS, spec("prime-h-2"))
        made = supervisor.create("bubblewrap", spec("prime-h-2"), 30)
        assert supervisor.list_states(["prime-h-1"])["prime-h-1"].status == held.status == "RUNNING"
    why = (
        "CONTAINER_HOST has changed since its supervisor was started, and takes effect when no "
        "sandbox is left: `prime sandbox delete --all`"
    )
    assert (checked.provider, checked.differs[-1]) == ("bubblewrap", why)
    assert made.facts["engine"] == f"not looked for again: {why}"
