"""Starting a supervisor, and what it and its files say."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.sandboxes.supervisor.protocol import ObservedState


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


def test_only_the_sandboxes_that_are_asked_for_are_looked_at(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    supervisor.paths.folder.mkdir()
    for tag in ("prime-h-1", "prime-h-2"):
        ended = msgspec.json.encode(ObservedState("TERMINATED", error_message=tag))
        (supervisor.paths.folder / f"{tag}.json").write_bytes(ended)
    (supervisor.paths.folder / "prime-h-3.json").write_bytes(b"{")
    found = supervisor.look(["prime-h-2", "prime-h-3", "prime-h-4"])
    assert {tag: state.error_message for tag, state in found.items()} == {"prime-h-2": "prime-h-2"}
