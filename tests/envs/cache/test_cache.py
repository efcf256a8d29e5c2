"""What is kept is listed, verified and pruned; what is used, and what is no cache, stays."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prime_cli.core.digests import digest_bytes
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.progress import Silent
from prime_cli.envs.cache.entries import CacheEntry, CacheKind, list_entries
from prime_cli.envs.cache.maintenance import prune, select_unused, verify_entries
from prime_cli.runtime.layers import is_ready

DAY = 24 * 3600
INTERPRETER = "ab" * 16


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A home with one entry of most kinds, none used for 40 days."""
    home = tmp_path / "home"
    wheel = b"bytes of a wheel"
    sha256 = digest_bytes(wheel)
    for path, content in {
        f"wheels/{sha256}/x-1.0-py3-none-any.whl": wheel,
        f"locks/{sha256}.json": b"{}",
        "cache/responses/ab/cdef.json": b"{}",
        "cache/builds/left/over": b"",
        "hub/blobs/aa": b"published",
        "config.toml": b"",
        "credentials.toml": b"key",
        f"interpreters/by-wheel/{INTERPRETER}.json": b'{"layers": ["' + b"ab" * 16 + b'"]}',
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)
    interpreter = home / "interpreters" / INTERPRETER
    command = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(interpreter)]
    subprocess.run(command, check=True)
    (interpreter / "prime-ready").touch()
    old = time.time() - 40 * DAY
    for entry in list_entries(home):
        os.utime(entry.path, (old, old))
    return home


def _find(home: Path, kind: CacheKind) -> CacheEntry:
    (entry,) = list_entries(home, frozenset({kind}))
    return entry


def test_what_is_listed_has_a_size_and_a_last_use(kept: Path) -> None:
    entries = {entry.kind: entry for entry in list_entries(kept)}
    assert set(entries) == {
        CacheKind.INTERPRETERS,
        CacheKind.WHEELS,
        CacheKind.LOCKS,
        CacheKind.RESPONSES,
        CacheKind.BUILDS,
    }
    assert entries[CacheKind.WHEELS].size == 16
    assert entries[CacheKind.WHEELS].used < time.time() - 39 * DAY


def test_what_was_used_lately_and_locks_stay(kept: Path) -> None:
    mark_in_use(kept, "interpreters", INTERPRETER)
    old = select_unused(kept, now=time.time(), older_than=30 * DAY)
    assert {entry.kind for entry in old} == {
        CacheKind.WHEELS,
        CacheKind.RESPONSES,
        CacheKind.BUILDS,
    }
    assert select_unused(kept, now=time.time(), older_than=50 * DAY) == []


def test_pruning_leaves_what_is_no_cache(kept: Path) -> None:
    done = prune(
        kept, select_unused(kept, now=time.time(), older_than=None), Silent(), dry_run=False
    )
    assert len(done.removed) == 4
    assert [entry.kind for entry in list_entries(kept)] == [CacheKind.LOCKS]
    left = sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file())
    assert [name for name in left if not name.startswith("locks/")] == [
        "config.toml", "credentials.toml", "hub/blobs/aa",
    ]  # fmt: skip


def test_marks_of_what_is_gone_go_too(kept: Path) -> None:
    marks = kept / "cache" / "uses"
    marks.mkdir()
    (marks / f"wheels-{'0' * 64}").touch()
    (marks / f"interpreters-{INTERPRETER}").touch()
    prune(kept, [], Silent(), dry_run=False)
    assert [path.name for path in marks.iterdir()] == [f"interpreters-{INTERPRETER}"]


def test_an_engine_goes_unless_it_was_used_lately_and_its_log_stays(kept: Path) -> None:
    engine = kept / "engines" / "vllm-0123456789ab"
    (engine / "bin").mkdir(parents=True)
    (kept / "engines" / "8000.log").touch()
    os.utime(engine, (0, 0))
    kinds = frozenset({CacheKind.ENGINES})
    (entry,) = old = select_unused(kept, now=time.time(), older_than=30 * DAY, kinds=kinds)
    assert entry.name == "engines/vllm-0123456789ab"
    _, (broken,) = verify_entries(list_entries(kept, kinds), Silent())
    assert broken.why == "it was never finished"
    mark_in_use(kept, "engines", engine.name)
    assert not select_unused(kept, now=time.time(), older_than=30 * DAY, kinds=kinds)
    assert prune(kept, old, Silent(), dry_run=False).busy == (entry,)
    assert engine.is_dir()


def test_an_engine_that_nobody_uses_is_removed_whole(kept: Path) -> None:
    engine = kept / "engines" / "vllm-0123456789ab"
    engine.mkdir(parents=True)
    entries = list(list_entries(kept, frozenset({CacheKind.ENGINES})))
    assert len(prune(kept, entries, Silent(), dry_run=False).removed) == 1
    assert not engine.exists()


def test_a_cache_of_its_own_folder_has_entries_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIME_HOME", raising=False)
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    (tmp_path / "CACHE" / "prime" / "engines" / "vllm-0123456789ab").mkdir(parents=True)
    (entry,) = list_entries(tmp_path / "DATA" / "prime")
    assert entry.name == "engines/vllm-0123456789ab"


def test_locks_go_when_they_are_named(kept: Path) -> None:
    kinds = frozenset({CacheKind.LOCKS})
    old = select_unused(kept, now=time.time(), older_than=30 * DAY, kinds=kinds)
    assert [entry.kind for entry in old] == [CacheKind.LOCKS]


def test_a_dry_run_removes_nothing(kept: Path) -> None:
    before = sorted(kept.rglob("*"))
    old = select_unused(kept, now=time.time(), older_than=None)
    assert len(prune(kept, old, Silent(), dry_run=True).removed) == 4
    assert [path for path in sorted(kept.rglob("*")) if "uses" not in path.parts] == before


def test_what_a_running_command_uses_stays(kept: Path) -> None:
    old = select_unused(kept, now=time.time(), older_than=30 * DAY)
    mark_in_use(kept, "interpreters", INTERPRETER)
    done = prune(kept, old, Silent(), dry_run=False)
    assert [entry.kind for entry in done.busy] == [CacheKind.INTERPRETERS]
    assert is_ready(kept / "interpreters" / INTERPRETER)


def test_work_in_progress_is_left_alone_for_an_hour(kept: Path) -> None:
    (kept / "cache" / "builds" / "now").mkdir()
    (kept / "interpreters" / f".{INTERPRETER}.12ab").mkdir()
    names = [entry.name for entry in select_unused(kept, now=time.time(), older_than=None)]
    assert "cache/builds/now" not in names
    assert f"interpreters/.{INTERPRETER}.12ab" not in names


def test_all_that_is_whole_passes(kept: Path) -> None:
    kinds = frozenset({CacheKind.INTERPRETERS, CacheKind.WHEELS, CacheKind.RESPONSES})
    assert verify_entries(list_entries(kept, kinds), Silent()) == (3, [])


def test_a_changed_wheel_is_named(kept: Path) -> None:
    wheel = next(_find(kept, CacheKind.WHEELS).path.glob("*.whl"))
    wheel.write_bytes(b"other")
    _, (broken,) = verify_entries(list_entries(kept, frozenset({CacheKind.WHEELS})), Silent())
    assert "does not match its sha256" in broken.why


def test_an_interpreter_that_does_not_start_is_named(kept: Path) -> None:
    python = kept / "interpreters" / INTERPRETER / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\necho no >&2\nexit 3\n", encoding="utf-8")
    python.chmod(0o700)
    _, (broken,) = verify_entries(list_entries(kept, frozenset({CacheKind.INTERPRETERS})), Silent())
    assert broken.why == "it does not start: no"
    python.unlink()
    _, (broken,) = verify_entries(list_entries(kept, frozenset({CacheKind.INTERPRETERS})), Silent())
    assert "is gone" in broken.why


def test_a_lock_that_cannot_be_read_is_named(kept: Path) -> None:
    _, (broken,) = verify_entries(list_entries(kept, frozenset({CacheKind.LOCKS})), Silent())
    assert "cannot be read" in broken.why


@pytest.mark.parametrize(
    "place",
    [
        "cache/responses/link",
        "cache/environments/hub/link",
        "cache/builds/link",
        "wheels/" + "0f" * 32,
        f"bundles/{INTERPRETER}",
    ],
)
def test_what_a_link_leads_to_stays(kept: Path, place: str) -> None:
    outside = kept.parent / "documents"
    outside.mkdir()
    (outside / "letter.json").write_bytes(b"mine")
    (kept / place).parent.mkdir(parents=True, exist_ok=True)
    (kept / place).symlink_to(outside, target_is_directory=True)
    entries = select_unused(
        kept, now=time.time() + DAY, older_than=None, kinds=frozenset(CacheKind)
    )
    assert not [entry for entry in entries if entry.path.name == "letter.json"]
    prune(kept, entries, Silent(), dry_run=False)
    assert (outside / "letter.json").read_bytes() == b"mine"
