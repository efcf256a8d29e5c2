"""What a process uses is seen by others, and by itself, as long as it lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.core.file_locks import (
    claim_unused,
    is_locked,
    last_used,
    mark_in_use,
    take_lock,
    use_file,
)

HOLD = """
import sys
from pathlib import Path
from prime_cli.core.file_locks import mark_in_use

mark_in_use(Path(sys.argv[1]), "wheels", "abc")
print("held", flush=True)
sys.stdin.read()
"""


def test_what_another_process_holds_is_taken_over_once_it_is_gone(tmp_path: Path) -> None:
    path = use_file(tmp_path, "wheels", "abc")
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"held"
        with claim_unused(path) as alone:
            assert not alone
        process.kill()  # not even this leaves a lock behind
    with claim_unused(path) as alone:
        assert alone


def test_several_holders_exclude_an_exclusive_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    mark_in_use(tmp_path, "wheels", "abc")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"held"
        process.kill()
    with claim_unused(use_file(tmp_path, "wheels", "abc")) as alone:
        assert not alone


def test_the_last_use_is_reported(tmp_path: Path) -> None:
    path = use_file(tmp_path, "wheels", "abc")
    assert last_used(path) is None
    mark_in_use(tmp_path, "wheels", "abc")
    assert last_used(path) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such modes there")
def test_an_unwritable_home_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    mark_in_use(tmp_path, "wheels", "abc")
    assert last_used(use_file(tmp_path, "wheels", "abc")) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_lock_is_held_until_its_descriptor_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert take_lock(path) is None
    assert not is_locked(path)
    lock = take_lock(path, is_new=True)
    assert lock is not None
    assert is_locked(path)
    assert take_lock(path) is None
    os.close(lock)
    assert not is_locked(path)
