"""A run read back from its folder: ours, or one written by an evaluator of verifiers."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from prime_cli.core.archive.imports import absent_import, missing_import_hint
from prime_cli.core.errors import NotFound, PartialResult
from prime_cli.core.formatting import format_share, pluralize
from prime_cli.core.paths import storage_errors
from prime_cli.models.prices import Charges
from prime_cli.runs.access_requests import allow_hint, refused, uncounted
from prime_cli.runs.folder import RunFolder, is_being_written, read_journal
from prime_cli.runs.manifest import FINISHED, RUNNING, STOPPED, RunManifest, load_manifest
from prime_cli.runs.plan import EvalPlan, resume_command, shard_text
from prime_cli.runs.rows import AskedAgain, Row
from prime_cli.runs.run_index import ResultsIndex, RunIndex, TracesIndex, index_journal
from prime_cli.runs.spending import Spending, read_charges
from prime_cli.runs.statistics.reducers import Reducer
from prime_cli.runs.summary import IMPORT_KEY, EnvironmentFacts, Summary, score
from prime_cli.runs.tally import Tally
from prime_cli.runs.v1_reader import read_settings
from prime_cli.runs.vf_eval_reader import read_metadata
from prime_cli.runs.work_list import on_resume


@dataclass(frozen=True)
class SavedRun:
    """One run on disk at one moment. `official` has vf-eval's metadata when the folder is not ours.

    For the v1 evaluator, which writes none, it holds the result of `read_settings`. `status` is
    that of `status_of`, `earlier` the index of an earlier moment.
    """

    folder: RunFolder
    manifest: RunManifest | None = None
    official: Mapping[str, Any] | None = None
    status: str = FINISHED
    earlier: RunIndex | None = field(default=None, repr=False, compare=False)

    def rows(self) -> Iterator[Row]:
        """The last attempt of every rollout, by example and rollout."""
        return self.index.rows()

    def renewed(self) -> "SavedRun":
        """The run as it is now; raises as `open_run`."""
        return dataclasses.replace(open_run(self.folder.path), earlier=self.index)

    @cached_property
    def index(self) -> RunIndex:
        """The rollouts that it has when first asked, each read on demand; raises UsageError."""
        if self.earlier is not None:
            return self.earlier.renewed()
        path = self.rollouts_file
        if self.manifest is not None:
            return index_journal(path)
        if path == self.folder.traces:
            return TracesIndex(path)
        return ResultsIndex(path, self.official or {})

    @property
    def rollouts_file(self) -> Path:
        """The file of lines whose positions the index has."""
        if self.manifest is not None:
            return self.folder.journal
        return self.folder.results if self.folder.results.is_file() else self.folder.traces

    def asked_again(self) -> AskedAgain | None:
        """The rollouts whose model was asked more than once; None for runs of other tools."""
        if self.manifest is None:
            return None
        known = self.manifest.asked_again
        if known is not None and self.manifest.status != RUNNING:
            return known
        return self.tally().asked_again.at_least(known)

    def tally(self) -> Tally:
        """The scores of all rollouts."""
        return self._totals().tally

    def summary(self, reducers: Sequence[Reducer] | None = None) -> Summary:
        """The statistics, recomputed from the rows; with the usual reducers or others."""
        return self.summarize(self._totals(), reducers)

    def summarize(self, totals: "RowTotals", reducers: Sequence[Reducer] | None = None) -> Summary:
        """The statistics of these rows."""
        if self.manifest is None:
            return _official_summary(self.folder, self.official or {}, totals.tally, reducers)
        manifest = self.manifest
        if manifest.status == RUNNING:  # what was spent is written at the end
            spending = Spending(manifest.plan.model, read_charges(manifest.unjournaled))
            spending.add(totals.spending.charges())
            manifest = replace(manifest, usage=spending.record(), status=self.status)
        return summary_of(self.folder, manifest, totals.tally, reducers)

    def charges(self) -> Charges:
        """What each role and model used, of all rows."""
        return self._totals().spending.charges()

    def _totals(self) -> "RowTotals":
        totals = RowTotals(self)
        journal = islice(read_journal(self.folder.journal), len(self.index))
        totals.add(journal if self.manifest is not None else self.rows())
        return totals


class RowTotals:
    """The scores of rows of a run, and what they cost."""

    def __init__(self, run: SavedRun) -> None:
        self.tally = Tally()
        self.spending = Spending(run.manifest.plan.model if run.manifest is not None else "")

    def add(self, rows: Iterable[Row]) -> None:
        """Count `rows`, every line of a journal once."""
        for row in rows:
            self.tally.add(row)
            self.spending.add_row(row)


def open_run(path: Path) -> SavedRun:
    """The run in folder `path`; raises NotFound if it holds none."""
    folder = RunFolder(path)
    if folder.manifest.is_file():
        manifest = load_manifest(folder.manifest)
        status = status_of(folder, manifest)
        # A process may have recorded the end, and gone, between the two looks.
        while status == STOPPED and (since := load_manifest(folder.manifest)) != manifest:
            manifest, status = since, status_of(folder, since)
        return SavedRun(folder, manifest=manifest, status=status)
    if folder.metadata.is_file() and folder.results.is_file():
        return SavedRun(folder, official=read_metadata(folder.metadata))
    if folder.traces.is_file():
        return SavedRun(folder, official=read_settings(folder))
    raise NotFound(
        f"{path} is not an evaluation",
        hint="list saved runs with `prime eval list`",
    )


def status_of(folder: RunFolder, manifest: RunManifest) -> str:
    """The manifest's status; `stopped` where it says `running` and no process writes."""
    if manifest.status == RUNNING and not is_being_written(folder):
        return STOPPED
    return manifest.status


def planned_of(manifest: RunManifest) -> int:
    """How many rollouts a run is to have; 0 where nothing says so."""
    plan, known = manifest.plan, manifest.planned
    return max(plan.num_examples, 0) * plan.rollouts_per_example if known is None else known


def summary_of(
    folder: RunFolder,
    manifest: RunManifest,
    tally: Tally,
    reducers: Sequence[Reducer] | None = None,
) -> Summary:
    """The Summary of a run of ours, with the scores in `tally`."""
    plan = manifest.plan
    scores = score(tally, planned_of(manifest), reducers)
    return Summary(
        run_id=manifest.run_id,
        path=str(folder.path),
        environment=EnvironmentFacts(
            ref=plan.environment.title,
            sha256=plan.environment.sha256,
            verifiers=manifest.interpreter.verifiers if manifest.interpreter else None,
            version=plan.environment.version,
            harness=manifest.harness,
            sandbox=plan.sandbox,
            agents=manifest.agents,
        ),
        model=plan.model,
        counts=scores.counts,
        reward=scores.reward,
        metrics=scores.metrics,
        usage=manifest.usage,
        seconds=manifest.seconds,
        status=manifest.status,
        num_examples=manifest.examples or plan.num_examples,
        rollouts_per_example=plan.rollouts_per_example,
        date=manifest.started,
        rollouts=scores.rollouts,
        errors=scores.errors,
        reduced=scores.reduced,
        failure=manifest.failure,
        uncounted=uncounted(manifest.connections),
        refused=refused(manifest.connections),
        withheld=manifest.withheld,
        warned=manifest.warned,
        asked_again=tally.asked_again.at_least(manifest.asked_again),
        on_resume=on_resume(tally, manifest.unit, plan.rollouts_per_example),
        served=manifest.served,
        labels=manifest.labels,
        changes=manifest.changes,
        shard=shard_text(plan),
    )


def _official_summary(
    folder: RunFolder,
    metadata: Mapping[str, Any],
    tally: Tally,
    reducers: Sequence[Reducer] | None,
) -> Summary:
    scores = score(tally, tally.finished, reducers)
    versions = metadata.get("version_info") or {}
    return Summary(
        run_id=folder.run_id,
        path=str(folder.path),
        environment=EnvironmentFacts(
            ref=str(metadata.get("env_id") or metadata.get("env") or "?"),
            verifiers=versions.get("vf_version"),
            version=versions.get("env_version"),
            harness=metadata.get("harness"),
        ),
        model=str(metadata.get("model", "?")),
        counts=scores.counts,
        reward=scores.reward,
        metrics=scores.metrics,
        usage=metadata.get("usage") or {},
        seconds=metadata.get("time") if isinstance(metadata.get("time"), int | float) else None,
        num_examples=metadata.get("num_examples"),
        rollouts_per_example=metadata.get("rollouts_per_example"),
        date=official_date(folder, metadata),
        rollouts=scores.rollouts,
        errors=scores.errors,
        reduced=scores.reduced,
        imported=_imported(metadata.get(IMPORT_KEY)),
    )


def _imported(record: object) -> tuple[str, ...]:
    notes = record.get("notes") if isinstance(record, dict) else None
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def official_date(folder: RunFolder, metadata: Mapping[str, Any]) -> str:
    """When a vf-eval run was saved; the file's mtime for 0.1.14, which drops the date."""
    date, time = metadata.get("date"), metadata.get("time")
    if isinstance(date, str):
        return f"{date}T{time}" if isinstance(time, str) and "T" not in date else date
    with storage_errors(folder.metadata):
        seconds = folder.metadata.stat().st_mtime
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def check_errors(summary: Summary, plan: EvalPlan) -> None:
    """Raise PartialResult if the share of finished rollouts that errored exceeds the limit."""
    again = resume_words(summary, resume_command(summary.run_id, plan))
    folder = Path(plan.environment.path) if plan.environment.path else None
    check_error_rate(summary, plan.max_error_rate, again=again, folder=folder)


def resume_words(summary: Summary, command: str) -> str | None:
    """What `command`, which resumes the run, does with its errors; None if unknown."""
    steps = summary.on_resume
    if steps is None:
        return None
    does, other, says = [], steps.score - steps.own, []
    if steps.ask:
        does.append(f"asks again for {steps.ask} without an answer")
    if other:
        does.append(f"scores {pluralize(other, 'saved answer')} again")
    if does:
        says.append(f"`{command}` {' and '.join(does)}")
    if steps.own:
        answers = pluralize(steps.own, "saved answer")
        says.append(
            f"the environment's code fails on {answers}: correct it, and score them with "
            f"`prime eval rescore {summary.run_id} --environment PATH`"
        )
    kept = steps.keep - steps.lacking
    if kept and does:
        says.append(f"{kept} stay unless you add `--retry-errors`")
    elif kept or (steps.own and not does):
        asks = f"`{command} --retry-errors` asks the model again"
        says.append(f"{asks}; without the flag, such errors stay")
    if steps.lacking:
        says.append(f"{steps.lacking} need a tunnel or an image that cannot be had, and stay")
    return "; ".join(says)


def check_error_rate(
    summary: Summary,
    limit: float,
    *,
    again: str | None = None,
    key: str | None = None,
    folder: Path | None = None,
) -> None:
    """The same for a run whose plan may be unknown.

    `again` says how to rerun those, `key` which evaluation of a suite it is, `folder` where the
    environment's project is.
    """
    counts = summary.counts
    rollouts = "rollouts" if key is None else f"rollouts of `{key}`"
    errored = (
        f"{counts.errored:,} of {counts.scored + counts.errored:,} {rollouts} ended in an error"
    )
    blamed = [each for each in summary.withheld if each.may_explain_errors]
    if blamed and counts.errored:
        names = ", ".join(sorted({each.name for each in blamed}))
        raise PartialResult(
            f"{errored} after the environment had asked for {names}",
            hint=f"{allow_hint(blamed)} in a new run, or see what happened with "
            f"`prime eval show {summary.run_id} --errors`",
        )
    if summary.error_rate <= limit:
        return
    above = f", above the limit of {format_share(limit, digits=9)}" if limit else ""
    look = f"see what happened with `prime eval show {summary.run_id} --errors`"
    errors = (f"{each.type}: {each.message}" for each in summary.errors)
    absent = next(filter(None, map(absent_import, errors)), None)
    if absent is not None:
        # It reads archives, which commands that only list do without.
        from prime_cli.core.archive.left_out import module_beside

        left = module_beside(folder, absent) if folder is not None else None
        step = left.hint if left is not None else missing_import_hint(absent)
        look = f"{step} in a new run, or {look}"
    raise PartialResult(
        f"{errored}{above}",
        hint=f"{look}, {again}" if again else look,
    )


def check_ended(summary: Summary) -> None:
    """Raise PartialResult for a saved run that has not ended."""
    if summary.status == FINISHED:
        return
    counts = summary.counts
    raise PartialResult(
        f"Run {summary.run_id} is {summary.status}: {counts.ended:,} of "
        f"{pluralize(counts.planned, 'rollout')} are done",
        hint=f"finish it with `prime eval run --resume {summary.run_id}`",
    )
