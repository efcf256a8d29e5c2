"""Prune and verify what prime keeps in its home; nothing that a process uses is removed."""

import json
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import PrimeError
from prime_cli.core.file_locks import claim_unused, use_file
from prime_cli.core.paths import FINISHED, executable_in, home_path, storage_errors
from prime_cli.core.process import TimedOut, child_environment, run
from prime_cli.core.progress import Progress
from prime_cli.envs.bundles.manifest import decode_manifest
from prime_cli.envs.bundles.unpacked import MANIFEST
from prime_cli.envs.cache.entries import (
    KEPT_BY_DEFAULT,
    CacheEntry,
    CacheKind,
    list_entries,
    use_file_of,
)
from prime_cli.envs.local_store import HubRecord
from prime_cli.runtime.layers import below_of, interpreters_folder, is_ready
from prime_cli.wire.locks import Lock

_FRESH_SECONDS = 3600
"""Work in progress that has no lock: nothing takes longer between two writes."""
_FILES = frozenset({CacheKind.RECORDS, CacheKind.CONFIGURATIONS, CacheKind.RESPONSES})
_UNLOCKED = _FILES | {CacheKind.BUILDS, CacheKind.LOCKS}


@dataclass(frozen=True)
class PruneResult:
    """What was removed (or would be), and what a running command uses."""

    removed: tuple[CacheEntry, ...]
    busy: tuple[CacheEntry, ...]

    @property
    def size(self) -> int:
        """Bytes of what was removed."""
        return sum(entry.size for entry in self.removed)


def select_unused(
    home: Path, *, now: float, older_than: float | None, kinds: frozenset[CacheKind] | None = None
) -> list[CacheEntry]:
    """What was not used for `older_than` seconds (None: ever); by default not KEPT_BY_DEFAULT."""
    wanted = frozenset(CacheKind) - KEPT_BY_DEFAULT if kinds is None else kinds
    found = list_entries(home, wanted)
    return [entry for entry in found if now - entry.used >= _least_age(entry, older_than)]


def _least_age(entry: CacheEntry, older_than: float | None) -> float:
    unfinished = entry.kind is CacheKind.BUILDS or entry.path.name.startswith((".", "tmp"))
    return max(older_than or 0.0, _FRESH_SECONDS if unfinished else 0.0)


def prune(
    home: Path, entries: Iterable[CacheEntry], progress: Progress, *, dry_run: bool
) -> PruneResult:
    """Remove `entries` that are not in use; raises StorageFailed.

    With `dry_run` nothing is removed.
    """
    todo = list(entries)
    removed: list[CacheEntry] = []
    busy: list[CacheEntry] = []
    with progress.task("Removing", total=len(todo)) as task:
        for entry in todo:
            (removed if _remove(home, entry, dry_run=dry_run) else busy).append(entry)
            task.advance()
    if not dry_run:
        _forget_missing(home)
    return PruneResult(tuple(removed), tuple(busy))


def _remove(home: Path, entry: CacheEntry, *, dry_run: bool) -> bool:
    if entry.kind in _UNLOCKED:
        if not dry_run:
            _delete(entry.path)
        return True
    use = use_file_of(home, entry)
    with storage_errors(use):
        there = use.exists()
        with claim_unused(use) as alone:
            if not alone:
                return False
            if not dry_run:
                _delete(entry.path)
            if not (dry_run and there):
                with suppress(OSError):
                    use.unlink()
    return True


def _delete(path: Path) -> None:
    """Out of the way by one rename, so that nobody ever finds half of it; then for good."""
    with storage_errors(path):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return
        aside = path.with_name(f".{path.name.lstrip('.')}.gone.{secrets.token_hex(4)}")
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def _forget_missing(home: Path) -> None:
    """Remove the notes about what is no longer there."""
    folder = interpreters_folder(home)
    for note in folder.glob("by-wheel/*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            layers = json.loads(note.read_bytes())["layers"]
            if not all(is_ready(folder / layer) for layer in layers):
                note.unlink()
    for use in use_file(home, "", "").parent.glob("*-*"):
        kind, _, name = use.name.partition("-")
        with suppress(OSError), claim_unused(use) as alone:
            if alone and not (home_path(home, kind) / name).exists():
                use.unlink()


_START_SECONDS = 60


@dataclass(frozen=True)
class BrokenEntry:
    """An entry that cannot be used, and why."""

    entry: CacheEntry
    why: str


def verify_entries(
    entries: Iterable[CacheEntry], progress: Progress
) -> tuple[int, list[BrokenEntry]]:
    """How many entries were looked at, and those that are broken; changes nothing.

    Kinds that cannot be checked (data, leftovers) are not counted.
    """
    todo = [entry for entry in entries if entry.kind in _CHECKS]
    broken = []
    with progress.task("Verifying", total=len(todo)) as task:
        for entry in todo:
            why = _look(entry)
            if why is not None:
                broken.append(BrokenEntry(entry, why))
            task.advance()
    return len(todo), broken


def _look(entry: CacheEntry) -> str | None:
    try:
        return _CHECKS[entry.kind](entry.path)
    except PrimeError as error:
        return error.message
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"


def _wheel(folder: Path) -> str | None:
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        return "there is no wheel in it"
    wrong = next((wheel for wheel in wheels if digest_file(wheel) != folder.name), None)
    return f"{wrong.name} does not match its sha256" if wrong else None


def _interpreter(folder: Path) -> str | None:
    if folder.name.startswith("."):
        return "it was never finished"
    if not is_ready(folder):
        return "its Python is gone, or it is incomplete"
    below = below_of(folder)
    if below is not None and not is_ready(below):
        return f"the packages below it, {below.name}, are gone"
    return _unable_to_start(folder)


def _engine(folder: Path) -> str | None:
    if not (folder / FINISHED).is_file():
        return "it was never finished"
    # Weights lie beside the engines that converted them.
    return None if (folder / "config.json").is_file() else _unable_to_start(folder)


def _unable_to_start(folder: Path) -> str | None:
    command = [str(executable_in(folder)), "-I", "-c", "import sys"]
    try:
        ended = run(command, timeout=_START_SECONDS, env=child_environment())
    except TimedOut:
        return f"it does not start within {_START_SECONDS} s"
    return None if ended.ok else f"it does not start: {ended.last_lines(1)}"


def _bundle(folder: Path) -> str | None:
    if folder.name.startswith("."):
        return "it was never finished"
    manifest = decode_manifest((folder / MANIFEST).read_bytes())
    for member in manifest.members:
        if member.path.startswith("data/"):
            continue
        path = folder / member.path
        if not path.is_file() or digest_file(path) != member.sha256:
            return f"{member.path} is missing or does not match its sha256"
    return None


def _json(kind: object) -> Callable[[Path], str | None]:
    def check(path: Path) -> str | None:
        try:
            msgspec.json.decode(path.read_bytes(), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return f"it cannot be read: {error}"
        return None

    return check


_CHECKS: dict[CacheKind, Callable[[Path], str | None]] = {
    CacheKind.INTERPRETERS: _interpreter,
    CacheKind.ENGINES: _engine,
    CacheKind.WHEELS: _wheel,
    CacheKind.LOCKS: _json(Lock),
    CacheKind.BUNDLES: _bundle,
    CacheKind.RECORDS: _json(HubRecord),
    CacheKind.CONFIGURATIONS: _json(dict),
    CacheKind.RESPONSES: _json(dict),
}
