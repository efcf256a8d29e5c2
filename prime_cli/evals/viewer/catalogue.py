"""The runs saved here, by environment and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prime_cli.evals.viewer.opened import OpenedRun
from prime_cli.evals.viewer.pair import Pair
from prime_cli.runs.listing import HERE, RunItem, RunRoots, find_run, list_runs
from prime_cli.runs.saved_run import open_run


@dataclass(frozen=True)
class SavedRunGroup:
    """Runs of one model on one environment, the newest first."""

    environment: str
    model: str
    runs: Sequence[RunItem]


class Catalogue:
    """The runs below the folder `cwd`, or in `roots`."""

    def __init__(self, cwd: Path, roots: RunRoots = HERE) -> None:
        self._cwd = cwd
        self._roots = roots

    def groups(self) -> list[SavedRunGroup]:
        """All runs, by environment and then by model; read again on each call."""
        found: dict[tuple[str, str], list[RunItem]] = {}
        for item in list_runs(self._cwd, self._roots):
            found.setdefault((item.environment, item.model), []).append(item)
        return [SavedRunGroup(*key, runs) for key, runs in sorted(found.items())]

    def find(self, run: str) -> Path:
        """The folder of the run with this id or in this folder; raises NotFound, UsageError."""
        return find_run(run, self._cwd, self._roots).folder.path

    def open(self, path: Path) -> OpenedRun:
        """The run in a folder; raises NotFound, UsageError."""
        return OpenedRun(open_run(path))

    def pair(self, first: Path, other: Path) -> Pair:
        """The runs in two folders side by side; raises NotFound, UsageError."""
        return Pair(self.open(first), self.open(other))
