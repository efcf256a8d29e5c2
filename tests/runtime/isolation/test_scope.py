"""What systemd is asked for a scope, and what comes of one that does not answer."""

import os
import sys
from pathlib import Path

import pytest

from prime_cli.runtime.isolation.cgroups import delegated_controllers, scope_words

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no systemd on Windows")


def environ(folder: Path, script: str) -> dict[str, str]:
    """Variables of a login whose `systemd-run` is a script."""
    program = folder / "systemd-run"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}


def test_what_may_be_limited_is_what_systemd_delegates(tmp_path: Path) -> None:
    said = environ(tmp_path, 'case "$*" in *Delegate=yes*) echo cpu memory pids;; esac')
    assert delegated_controllers(said) == {"cpu", "memory", "pids"}


@pytest.mark.parametrize("script", ["echo Failed to connect to bus >&2; exit 1", "exec no-such"])
def test_a_systemd_that_refuses_delegates_nothing(tmp_path: Path, script: str) -> None:
    variables = environ(tmp_path, script)
    assert delegated_controllers(variables) == frozenset()
    assert scope_words(variables) == []


def test_a_login_without_systemd_is_not_asked(tmp_path: Path) -> None:
    variables = environ(tmp_path, f"touch {tmp_path}/asked; echo cpu")
    del variables["XDG_RUNTIME_DIR"]
    assert delegated_controllers(variables) == frozenset()
    assert not (tmp_path / "asked").exists()
