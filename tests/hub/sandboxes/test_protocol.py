"""Where a supervisor listens."""

import os
from pathlib import Path

import pytest

from prime_cli.hub.sandboxes.supervisor.protocol import SupervisorPaths

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no sandboxes on Windows")


def test_a_short_folder_has_its_socket_in_it() -> None:
    assert SupervisorPaths(Path("/p")).socket == Path("/p/socket")


def test_the_socket_of_a_long_folder_is_found_however_long_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("l" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    monkeypatch.setattr("tempfile.tempdir", str(long))
    socket = SupervisorPaths(long / "sandboxes").socket
    assert len(os.fsencode(socket)) <= 100
    assert socket == SupervisorPaths(long / "sandboxes").socket
    assert socket != SupervisorPaths(long / "other").socket
    assert socket.parent.stat().st_mode & 0o077 == 0


def test_the_folder_of_the_runtime_comes_first(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Path("/tmp")  # as short as /run/user/1000
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    folder = tmp_path_factory.mktemp("long") / ("l" * 90)
    assert SupervisorPaths(folder).socket.is_relative_to(runtime)
