"""The saved runs that an argument of `prime eval compare` selects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.runs.comparison.sides import bare_name, environment_of
from prime_cli.runs.listing import find_run, list_runs
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.saved_run import SavedRun, official_date, open_run


@dataclass(frozen=True)
class MatchedRuns:
    """Pairs (first, other) of runs to compare, and the ids of runs without a counterpart."""

    couples: list[tuple[SavedRun, SavedRun]]
    unmatched: list[str]


def runs_meant(word: str, cwd: Path) -> list[SavedRun]:
    """The runs of one side, at most one of each environment.

    The text is a run's id or folder; several of them, separated by commas; or a folder of runs or a
    model, for the newest finished run of each environment. Raises NotFound and UsageError.
    """
    names = [part.strip() for part in word.split(",") if part.strip()]
    runs = [run for name in names for run in _runs_named(name, cwd)]
    seen: dict[str, SavedRun] = {}
    for run in runs:
        name = bare_name(environment_of(run))
        if name in seen:
            raise UsageError(
                f"`{word}` holds two runs of {name}: {seen[name].folder.run_id} and "
                f"{run.folder.run_id}",
                hint="compare two runs of one environment as `prime eval compare RUN RUN`",
            )
        seen[name] = run
    return runs


def match(sides: Sequence[Sequence[SavedRun]]) -> MatchedRuns:
    """Pair the runs of every further side with those of the first, by environment.

    Two sides of one run each are always a pair. Raises NotFound if no environment is on two sides.
    """
    first, *others = sides
    couples: list[tuple[SavedRun, SavedRun]] = []
    unmatched: list[str] = []
    for other in others:
        if len(first) == len(other) == 1:
            couples.append((first[0], other[0]))
            continue
        theirs = {bare_name(environment_of(run)): run for run in other}
        ours = {bare_name(environment_of(run)): run for run in first}
        couples.extend((ours[name], theirs[name]) for name in ours if name in theirs)
        unmatched.extend(
            _title(run)
            for name, run in [*ours.items(), *theirs.items()]
            if (name in ours) != (name in theirs)
        )
    if not couples:
        raise NotFound(
            "The runs have no common environment",
            hint="list saved runs with `prime eval list`",
        )
    return MatchedRuns(couples, unmatched)


def _title(run: SavedRun) -> str:
    return f"{run.folder.run_id} ({environment_of(run)})"


def _runs_named(name: str, cwd: Path) -> list[SavedRun]:
    try:
        return [find_run(name, cwd)]
    except NotFound:
        of_model = [Path(item.path) for item in list_runs(cwd) if item.model == name]
        found = _newest(of_model or _run_folders(cwd / name))
        if not found:
            raise
        return found


def _newest(paths: Iterable[Path]) -> list[SavedRun]:
    """The newest finished run of each environment among the run folders `paths`."""
    runs = [open_run(path) for path in paths]
    finished = [run for run in runs if run.manifest is None or run.manifest.status == FINISHED]
    ordered = sorted(finished, key=_started, reverse=True)
    found: dict[str, SavedRun] = {}
    for run in ordered:
        found.setdefault(bare_name(environment_of(run)), run)
    return [found[name] for name in sorted(found)]


def _started(run: SavedRun) -> float:
    told = run.manifest.started if run.manifest else official_date(run.folder, run.official or {})
    try:
        return datetime.fromisoformat(told).timestamp()
    except ValueError:
        return 0.0


def _run_folders(folder: Path) -> set[Path]:
    results = {path.parent for path in folder.rglob("metadata.json")}
    official = {path for path in results if (path / "results.jsonl").is_file()}
    return official | {path.parent for path in folder.rglob("run.json")}
