"""Starting a supervisor."""

from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.sandboxes.supervisor.client import Supervisor


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
