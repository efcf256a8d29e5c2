"""Remove what was not used for some time, and nothing that a process uses."""

import json
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.file_locks import claim_unused, use_file
from prime_cli.core.paths import storage_errors
from prime_cli.core.progress import Progress
from prime_cli.envs.keeping.entries import LASTING, Entry, Kind, list_entries, use_of
from prime_cli.runtime.layers import interpreters_folder, is_ready

_FRESH_SECONDS = 3600
"""Work in progress that has no lock: nothing takes longer between two writes."""
_UNLOCKED = frozenset({Kind.BUILDS, Kind.RECORDS, Kind.RESPONSES, Kind.LOCKS})


@dataclass(frozen=True)
class Pruned:
    """What was removed (or would be), and what a running command uses."""

    removed: tuple[Entry, ...]
    busy: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """Bytes of what was removed."""
        return sum(entry.size for entry in self.removed)


def choose_old(
    home: Path, *, now: float, older_than: float | None, kinds: frozenset[Kind] | None = None
) -> list[Entry]:
    """What was not used for `older_than` seconds (None: ever); without `kinds` none of LASTING."""
    wanted = frozenset(Kind) - LASTING if kinds is None else kinds
    found = list_entries(home, wanted)
    return [entry for entry in found if now - entry.used >= _least_age(entry, older_than)]


def _least_age(entry: Entry, older_than: float | None) -> float:
    unfinished = entry.kind is Kind.BUILDS or entry.path.name.startswith((".", "tmp"))
    return max(older_than or 0.0, _FRESH_SECONDS if unfinished else 0.0)


def prune(home: Path, entries: Iterable[Entry], progress: Progress, *, dry_run: bool) -> Pruned:
    """Remove `entries`, but none that is in use; raises StorageFailed.

    With `dry_run` nothing is removed.
    """
    todo = list(entries)
    removed: list[Entry] = []
    busy: list[Entry] = []
    with progress.task("Removing", total=len(todo)) as task:
        for entry in todo:
            (removed if _remove(home, entry, dry_run=dry_run) else busy).append(entry)
            task.advance()
    if not dry_run:
        _forget_missing(home)
    return Pruned(tuple(removed), tuple(busy))


def _remove(home: Path, entry: Entry, *, dry_run: bool) -> bool:
    if entry.kind in _UNLOCKED:
        if not dry_run:
            _delete(entry.path)
        return True
    use = use_of(home, entry)
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
            if alone and not (home / kind / name).exists():
                use.unlink()
