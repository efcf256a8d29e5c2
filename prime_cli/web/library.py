"""The runs that the pages show: found by name, and kept open while they are looked at."""

import hashlib
import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.runs.listing import HERE, RunItem, RunRoots, list_runs
from prime_cli.training.record import SavedTraining, list_trainings
from prime_cli.web.opened import FollowedRun, LocalRun

_OPEN = 6
"""Runs kept open: the index of one with 200,000 rollouts takes some 30 MB."""
_SECONDS = 2.0


class Library:
    """The runs and trainings below the folder `cwd`, or in `roots`. May be used by threads.

    Runs in the folders `also` belong to it wherever they are.
    """

    def __init__(self, cwd: Path, roots: RunRoots = HERE, also: Sequence[Path] = ()) -> None:
        self.cwd, self.roots = cwd, roots
        self.also = tuple(path.resolve() for path in also)
        self._open: OrderedDict[Path, FollowedRun] = OrderedDict()
        self._lock = threading.RLock()
        self._listed: tuple[float, list[RunItem]] = (-_SECONDS, [])

    def items(self) -> list[RunItem]:
        """The runs, newest first; as of at most two seconds ago."""
        with self._lock:
            at, items = self._listed
            if time.monotonic() - at >= _SECONDS:
                items = list_runs(self.cwd, self.roots)
                self._listed = time.monotonic(), items
            return items

    def trainings(self) -> list[SavedTraining]:
        """The trainings, newest first."""
        return list_trainings(self.cwd, self.roots.outputs)

    def names_of(self, paths: Sequence[Path]) -> list[str]:
        """What addresses call the runs in these folders: by id, where no other run has it."""
        if not paths:
            return []
        known = Counter(map(plain_name, self._paths()))
        named = ((plain_name(path), path) for path in paths)
        return [name if known[name] <= 1 else f"{name}~{_digest(path)}" for name, path in named]

    def find(self, name: str) -> LocalRun:
        """The run or training that an address calls `name`, as it is now; raises as `follow`."""
        return self.follow(name).now()

    def follow(self, name: str) -> FollowedRun:
        """The same from now on; raises NotFound, UsageError."""
        wanted, _, digest = name.partition("~")
        found = [
            path
            for path in self._paths()
            if (own := plain_name(path)) in (name, wanted)
            and (own == name or _digest(path) == digest)
        ]
        if not found:
            raise NotFound(f"No local run `{name}`", hint="list saved runs with `prime eval list`")
        return self.open(found[0])

    def open(self, path: Path) -> FollowedRun:
        """The run in a folder; raises NotFound, UsageError."""
        with self._lock:
            run = self._open.pop(path, None) or FollowedRun(path)
            self._open[path] = run
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
            return run

    def _paths(self) -> list[Path]:
        """The folders of all runs; of those of trainers too, which the list leaves out."""
        listed = [Path(item.path) for item in self.items()]
        outputs = self.cwd / (self.roots.outputs or "outputs")
        trained = [path.parent for each in _OF_TRAINERS for path in outputs.glob(each)]
        every = {path.resolve(): None for path in (*self.also, *listed, *trained)}
        return list(every)


_OWN = ("run.json", "evals/*/*/run.json")
_OF_TRAINERS = [f"[tr]*/*/*/{place}{each}" for place in ("", "environments/*/") for each in _OWN]
"""Where trainings and rollout services are, and their evaluations; of several environments too."""


def run_path(name: str) -> str:
    """The address of a run's page."""
    return f"/runs/{quote(name, safe='~')}"


def training_path(name: str) -> str:
    """The address of a training's page."""
    return f"/trainings/{quote(name, safe='~')}"


def plain_name(path: Path) -> str:
    """The name of a folder, also of one that is not UTF-8, as an address can have it."""
    return path.name.encode(errors="replace").decode()


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]


def problem_of(error: PrimeError) -> str:
    """The sentence of a failure, with what to do about it."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
