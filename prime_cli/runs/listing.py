"""The runs saved in a folder and its environments."""

import glob
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from prime_cli.core.errors import NotFound, PrimeError, StorageFailed, UsageError
from prime_cli.core.refs import normalize_name
from prime_cli.runs.manifest import FINISHED, RUNNING, RunManifest
from prime_cli.runs.plan import shard_text
from prime_cli.runs.rows import CANCELLED
from prime_cli.runs.saved_run import SavedRun, official_date, open_run, planned_of
from prime_cli.runs.summary import Counts


class RunItem(msgspec.Struct, frozen=True):
    """One line of `prime eval list`; `reward` is the mean, `errors` a share of 0 to 1 or null.

    `counts`, `reward` and `errors` are those so far of a run that goes on; `counts` are null for
    runs of other tools. `cost` is in USD, null if part of it is unknown; `known_cost` is then the
    rest. `shard` is `I/N` for a part of a run, whose `num_examples` are those of the whole.
    """

    run_id: str
    environment: str
    model: str
    num_examples: int | None
    rollouts_per_example: int | None
    reward: float | None
    errors: float | None
    status: str
    date: str
    path: str
    cost: float | None = None
    known_cost: float | None = None
    tags: tuple[str, ...] = ()
    note: str | None = None
    shard: str | None = None
    counts: Counts | None = None

    @property
    def progress(self) -> str:
        """`12 of 40` rollouts of a run that has not finished; empty for others."""
        if self.counts is None or self.status == FINISHED:
            return ""
        done, planned = self.counts.ended, self.counts.planned
        return f"{done:,} of {planned:,}" if planned else f"{done:,}"

    def is_of(self, name: str) -> bool:
        """Whether it is a run of the environment `name`, which may include owner and version."""
        own, wanted = self.environment.partition("@"), name.partition("@")
        if wanted[2] not in ("", own[2]):
            return False
        names = (normalize_name(slug.rpartition("/")[2]) for slug in (own[0], wanted[0]))
        same_owner = "/" not in wanted[0] or own[0].split("/")[:-1] == wanted[0].split("/")[:-1]
        return same_owner and len(set(names)) == 1


@dataclass(frozen=True)
class RunRoots:
    """Where to look for runs; by default the folders of these names."""

    outputs: Path | None = None
    environments: Path | None = None


HERE = RunRoots()


def list_runs(
    cwd: Path, roots: RunRoots = HERE, skipped: Callable[[Path, UsageError], None] | None = None
) -> list[RunItem]:
    """Runs under `outputs/evals` and `environments/*/outputs/evals` of `cwd`, newest first.

    Those of the v1 evaluator are in `outputs` itself. Reads only the small files, and skips folders
    it cannot parse; `skipped` is called with those that are damaged.
    """
    items = []
    for path in _run_folders(cwd, roots):
        try:
            items.append(_item(open_run(path)))
        except NotFound:
            continue
        except UsageError as error:
            if skipped is not None:
                skipped(path, error)
    return sorted(items, key=lambda item: _moment(item.date), reverse=True)


def find_run(wanted: str | None, cwd: Path, roots: RunRoots = HERE) -> SavedRun:
    """The run in folder `wanted`, or whose id begins with it; the newest evaluation for None.

    Raises NotFound if there is none, UsageError if several ids match.
    """
    if wanted is not None and (cwd / wanted).exists():
        path = cwd / wanted
        return open_run(path.parent if path.is_file() else path)
    items = list_runs(cwd, roots)
    if wanted is None:
        found = items[:1]
    else:
        found = [item for item in items if item.run_id.startswith(wanted)]
        found = found or list(list_for_trainers(cwd, roots, wanted))
    if not found:
        raise _no_run(wanted)
    if len(found) > 1:
        raise _several(wanted, found)
    return open_run(Path(found[0].path))


def list_for_trainers(cwd: Path, roots: RunRoots = HERE, wanted: str = "") -> Iterator[RunItem]:
    """Trainings and sessions of `prime rollouts serve` whose id begins so."""
    for path in (cwd / (roots.outputs or "outputs")).glob(f"[tr]*/*/{glob.escape(wanted)}*"):
        if path.parents[1].name in ("train", "rollouts") and (path / "run.json").is_file():
            yield _item(open_run(path))


def _several(wanted: str | None, found: list[RunItem]) -> UsageError:
    ids = {item.run_id for item in found}
    if len(ids) > 1:
        listed = ", ".join(item.run_id for item in found)
        return UsageError(f"`{wanted}` matches several runs: {listed}", hint="use more of the id")
    paths = ", ".join(item.path for item in found)
    return UsageError(
        f"Run {found[0].run_id} exists more than once: {paths}", hint="pass the folder instead"
    )


def _no_run(wanted: str | None) -> PrimeError:
    if wanted is None:
        return NotFound(
            "There are no evaluations here",
            hint="create one: `prime eval run starter/alphabet-sort -m builtin/oracle`",
        )
    return NotFound(
        f"No local run `{wanted}`",
        hint="list saved runs with `prime eval list`, or pass a run's folder",
    )


def _run_folders(cwd: Path, roots: RunRoots) -> Iterator[Path]:
    outputs = cwd / (roots.outputs or "outputs")
    environments = cwd / (roots.environments or "environments")
    for folder in (outputs, *environments.glob("*/outputs")):
        yield from (path for path in folder.glob("evals/*/*") if path.is_dir())
        yield from (path.parent for path in folder.glob("*/traces.jsonl"))


def _item(run: SavedRun) -> RunItem:
    if run.manifest is not None:
        return _own_item(run, run.manifest)
    metadata = run.official or {}
    return RunItem(
        run_id=run.folder.run_id,
        environment=str(metadata.get("env_id") or metadata.get("env") or "?"),
        model=str(metadata.get("model", "?")),
        num_examples=metadata.get("num_examples"),
        rollouts_per_example=metadata.get("rollouts_per_example"),
        reward=metadata.get("avg_reward"),
        errors=metadata.get("avg_error"),
        status="finished",
        date=official_date(run.folder, metadata),
        path=str(run.folder.path),
    )


def _own_item(run: SavedRun, manifest: RunManifest) -> RunItem:
    plan = manifest.plan
    counts, reward = _results(run, manifest)
    finished = counts.scored + counts.errored if counts else 0
    return RunItem(
        run_id=manifest.run_id,
        environment=plan.environment.title,
        model=plan.model,
        num_examples=manifest.examples or plan.num_examples,
        rollouts_per_example=plan.rollouts_per_example,
        reward=reward,
        errors=counts.errored / finished if counts and finished else None,
        status=run.status,
        date=manifest.started,
        path=str(run.folder.path),
        cost=_dollars(manifest.usage.get("cost")),
        known_cost=_dollars(manifest.usage.get("known_cost")),
        tags=manifest.labels.tags,
        note=manifest.labels.note,
        shard=shard_text(plan),
        counts=counts,
    )


def _results(run: SavedRun, manifest: RunManifest) -> tuple[Counts | None, float | None]:
    """Counts and mean reward: until a session has ended, those in the journal's index."""
    if manifest.status != RUNNING:
        return manifest.counts, manifest.reward.mean if manifest.reward else None
    try:
        index = run.index
    except (UsageError, StorageFailed):
        return None, None
    rewards, count = index.rewards(), len(index.latest)
    endings = index.entries.endings(index.latest)
    truncated = sum(number for (_, cut), number in endings.items() if cut)
    cancelled = sum(number for (error, _), number in endings.items() if error == CANCELLED)
    errored = count - len(rewards) - cancelled
    counts = Counts(planned_of(manifest), len(rewards), errored, truncated, cancelled)
    return counts, math.fsum(rewards) / len(rewards) if rewards else None


def _dollars(value: object) -> float | None:
    """An amount from run.json, which may have been edited; None if it is not a number."""
    return float(value) if type(value) in (int, float) else None  # type: ignore[arg-type]


def _moment(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return 0.0
