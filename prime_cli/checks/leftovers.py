"""What processes that are gone have left: runs without an end, halves of files and interpreters.

Locks are the system's own and end with their holder, so none can be stale. One that is held just
now is told by whoever needs it.
"""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from prime_cli.checks.findings import Finding, ok, warned
from prime_cli.checks.place import Place
from prime_cli.core.file_locks import try_lock
from prime_cli.core.formatting import first_few, pluralize
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import RUNNING, STOPPED

_OLD = 24 * 3600
"""Seconds after which nobody is still writing what is half there."""
_MOST_NAMED = 3


def examine(place: Place) -> list[Finding]:
    """One finding each for locks, for runs below this folder and for the halves in prime's home."""
    return [_locks(place.home), _runs(place.here), _halves(place.home, time.time())]


def _locks(home: Path) -> Finding:
    held = [path.name for path in sorted(home.glob("*.lock")) if _is_held(path)]
    if not held:
        return ok("locks", "None is held, and none can outlive its holder")
    sentence = f"Another process holds {', '.join(held)} in {home}"
    return warned("locks", sentence, "wait for it to end; `ps` shows other commands of prime")


def _is_held(path: Path) -> bool:
    try:
        with path.open("r+b") as file:
            return not try_lock(file)
    except OSError:
        return False  # not ours to open: told by the check of modes


def _runs(here: Path) -> Finding:
    runs = list_runs(here)
    stopped = [run.run_id for run in runs if run.status == STOPPED]
    if stopped:
        sentence = (
            f"{pluralize(len(stopped), 'run')} here ended without a word: {first_few(stopped)}"
        )
        fix = "run the same command again with `--resume`, or `rm -r` what nobody wants"
        return warned("runs", sentence, fix)
    going = sum(run.status == RUNNING for run in runs)
    return ok("runs", f"{going} under way here" if going else "None here was broken off")


def _halves(home: Path, now: float) -> Finding:
    old = [path for path in _candidates(home) if _age(path, now) > _OLD]
    if not old:
        return ok("halves", f"Nothing half written is left in {home}")
    told = first_few([path.name for path in old], _MOST_NAMED)
    names = shlex.join(str(path) for path in old[:_MOST_NAMED])
    more = " …" if len(old) > _MOST_NAMED else ""
    return warned(
        "halves",
        f"{pluralize(len(old), 'half-written thing')} left in {home}: {told}",
        f"`rm -r {names}`{more}",
    )


def _candidates(home: Path) -> Iterator[Path]:
    for folder in (home, home / "hub", home / "cache", home / "locks"):
        yield from folder.glob(".*.tmp")
    # Made beside the digest that they would have been published under.
    yield from (home / "interpreters").glob(".????????????????????????????????.*")


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0  # gone meanwhile
