"""`prime update`, with programs that only write down how they are called."""

import os
import sys
from pathlib import Path

import pytest

from prime_cli.core.installation import this_installation
from tests.helpers.cli import Prime

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts of sh")


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the calls of git, uv and pipx, which are the first on PATH."""
    log, folder = tmp_path / "called", tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "uv", "pipx"):
        script = folder / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >>{log}\nexit ${{EXIT:-0}}\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), "/usr/bin", "/bin"]))
    return log


def test_the_commands_that_are_shown_are_the_ones_that_run(prime: Prime, called: Path) -> None:
    shown = prime("update", "--check", "--output", "json").ok().json["commands"]
    assert not called.exists()
    result = prime("update", "--yes").ok()
    assert called.read_text(encoding="utf-8").splitlines() == [
        " ".join(command) for command in shown
    ]
    assert "Installed prime again" in result.err


def test_nothing_changes_without_a_person_to_ask(prime: Prime, called: Path) -> None:
    result = prime("update")
    assert (result.code, called.exists()) == (2, False)
    assert "hint: add `--yes` to confirm" in result.err


def test_the_first_command_that_fails_is_named(
    prime: Prime, called: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXIT", "3")
    first = " ".join(this_installation().update()[0])
    result = prime("update", "--yes")
    assert result.code == 9
    assert "failed\nhint: fix the cause above, then run `prime update` again" in result.err
    assert called.read_text(encoding="utf-8").splitlines() == [first]
