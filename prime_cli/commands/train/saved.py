"""`prime train list`, `show` and `stop`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from msgspec.structs import asdict

from prime_cli.commands.contract import WRITES
from prime_cli.commands.eval.summary import relative_path
from prime_cli.commands.options import YES_OR_FORCE, ForceOpt, local_options, open_session
from prime_cli.core.errors import Conflict
from prime_cli.core.formatting import (
    format_interval,
    format_number,
    format_p,
    format_share,
    pluralize,
)
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.evals.sharing.notice import RunNotice
from prime_cli.runs.folder import RunFolder, is_being_written
from prime_cli.runs.manifest import FAILED
from prime_cli.runs.saved_run import status_of
from prime_cli.session import Session
from prime_cli.training.curves import DRAWN, read_steps, series, sparkline
from prime_cli.training.dump import format_replaced
from prime_cli.training.page import training_page
from prime_cli.training.record import (
    STOP,
    FailedRollouts,
    Refilled,
    SavedTraining,
    TrainingFacts,
    Verdict,
    best_checkpoint,
    count_failed,
    count_refilled,
    find_training,
    last_checkpoint,
    list_trainings,
    typed_name,
)
from prime_cli.training.trainer_events import METRICS

if TYPE_CHECKING:
    from prime_cli.training.run import TrainingResult

_WIDEST_CURVE = 48
_COLUMNS = ("Training", "Environment", "Model", "Steps", "Reward", "Status", "Started", "Path")
TrainingArg = Annotated[
    str | None,
    typer.Argument(
        metavar="TRAINING", help="A training's id or its folder.", show_default="the newest here"
    ),
]


class TrainingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A training; `best` is the step that scored highest on held-out examples."""

    training: str
    environment: str
    model: str
    status: str
    started: str
    path: str
    best: int | None
    facts: TrainingFacts


class TrainingDetails(TrainingRow, frozen=True, kw_only=True):
    """The same with its failures, and `metrics` by step as in metrics.jsonl."""

    failed: FailedRollouts
    refilled: Refilled | None
    metrics: list[dict[str, Any]]


class EndedTraining(msgspec.Struct, frozen=True):
    """A training that has ended; `best` is the step that scored highest on held-out examples."""

    training: str
    path: str
    best: int | None
    facts: TrainingFacts
    failed: FailedRollouts
    refilled: Refilled | None


class TrainingPage(msgspec.Struct, frozen=True):
    """The page that `--html` wrote."""

    path: str


class StoppingTraining(msgspec.Struct, frozen=True):
    """The training that stops after its current step."""

    training: str


@local_options(answer=list[TrainingRow])
def list_saved(
    ctx: typer.Context,
    *,
    outputs_dir: Annotated[
        Path | None,
        typer.Option(
            "--outputs-dir", metavar="DIR", help="Other trainings.", show_default="./outputs"
        ),
    ] = None,
) -> None:
    """List the trainings in the current folder.

    \b
    Example:
      prime train list
      prime train list --outputs-dir /shared/outputs
    \b
    See also: `prime train show`.
    """
    session = open_session(ctx)
    found = list_trainings(Path.cwd(), outputs_dir)
    session.output.table(
        _COLUMNS, [_row(each) for each in found], records=[_record(each) for each in found]
    )
    if not found:
        session.output.hint("train a model: `prime train ENV -m MODEL`")


@local_options(answer=(TrainingDetails, TrainingPage), effects=WRITES)
def show(
    ctx: typer.Context,
    training: TrainingArg = None,
    *,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a single HTML file, with curves."),
    ] = None,
    force: ForceOpt = False,
) -> None:
    """Show a training: its steps, evaluations and verdict.

    \b
    Example:
      prime train show
      prime train show 1f2e3d4c --html training.html
      prime train show 1f2e3d4c --output json
    \b
    See also: `prime eval view FOLDER`, `prime train --resume`.
    """
    session = open_session(ctx)
    found = find_training(training, Path.cwd())
    record = details_of(found)
    steps = record.metrics
    lines = [
        ("Training", found.manifest.run_id),
        ("Environment", found.environments),
        *found.facts.plan.lines(),
        ("Status", _status(found)),
        ("Steps", steps_of(found.facts)),
    ]
    ends = _ends(found, record.failed)
    if html is not None:
        _write_page(session, html, training_page(found, steps, [*lines[1:], *ends]), force=force)
        return
    curves = {name: series(steps, name) for name in DRAWN}
    for name in found.facts.environments:
        curves[f"reward, {name}"] = series([each.get("rewards", {}) for each in steps], name)
    for name, values in curves.items():
        if values and max(values) > min(values):
            curve = sparkline(values, _WIDEST_CURVE)
            lines.append((name, f"{format_number(values[0])} {curve} {format_number(values[-1])}"))
    lines += best_lines(RunFolder(found.folder), found.facts)
    lines += refill_lines(record.refilled)
    checkpoint = last_checkpoint(RunFolder(found.folder))
    if checkpoint is not None:
        lines.append(("Checkpoint", relative_path(str(checkpoint[1]))))
    session.output.show(record, lines=[*lines, *ends])


def details_of(found: SavedTraining) -> TrainingDetails:
    """All that is known of a training."""
    folder = RunFolder(found.folder)
    return TrainingDetails(
        **asdict(_record(found)),
        failed=count_failed(folder, found.facts.environments),
        refilled=count_refilled(folder, found.facts),
        metrics=read_steps(found.folder / METRICS, found.facts.step),
    )


def notice_of_training(folder: RunFolder) -> RunNotice:
    """With what `prime train show` prints, or null before there is anything."""
    found, status = None, FAILED
    if folder.manifest.exists():
        found = details_of(find_training(str(folder.path), Path.cwd()))
        status = found.status
    return RunNotice(folder.run_id, status, str(folder.path), found, "train show")


def show_ended(session: Session, result: "TrainingResult") -> FailedRollouts:
    """Print what a training has come to; returns the rollouts that failed."""
    facts = result.facts
    path = relative_path(str(result.folder.path))
    lines = [("Training", result.folder.run_id), ("Steps", steps_of(facts))]
    lines += evaluation_lines(facts)
    failed = count_failed(result.folder, facts.environments)
    lines += failure_lines(failed)
    if result.is_whole:
        lines.append(("Model", f"{path}/model"))
        if facts.plan.push_to_hub:
            lines.append(("Pushed", f"https://huggingface.co/{facts.plan.push_to_hub}"))
    lines += best_lines(result.folder, facts)
    refilled = count_refilled(result.folder, facts)
    lines += refill_lines(refilled)
    lines.append(("Folder", path))
    record = EndedTraining(
        training=result.folder.run_id,
        path=str(result.folder.path),
        best=facts.best,
        facts=facts,
        failed=failed,
        refilled=refilled,
    )
    session.output.show(record, lines=lines)
    return failed


def _ends(found: SavedTraining, failed: FailedRollouts) -> list[tuple[str, str]]:
    """What came of it: the rewards of held-out examples, and the verdict."""
    held_out = found.facts.held_out
    lines = [] if held_out is None else [("Held out", held_out)]
    replaced = found.facts.replaced
    if replaced:
        lines.append(("Sampling not done", format_replaced(replaced)))
    return lines + evaluation_lines(found.facts) + failure_lines(failed)


def best_lines(folder: RunFolder, facts: TrainingFacts) -> list[tuple[str, str]]:
    """The checkpoint of the step that scored highest on the held-out examples."""
    found = best_checkpoint(folder, facts)
    return [] if found is None else [("Best checkpoint", relative_path(str(found)))]


def refill_lines(found: Refilled | None) -> list[tuple[str, str]]:
    """How many groups without spread were replaced."""
    if found is None:
        return []
    words = f"{found.replaced:,} of {pluralize(found.dropped, 'group')} without spread"
    if found.short_steps:
        words += f"; the bound left some in {pluralize(found.short_steps, 'step')}"
    return [("Refilled", words)]


def failure_lines(failed: FailedRollouts) -> list[tuple[str, str]]:
    """How many rollouts ended in an error, and what the commonest one was."""
    if not failed.failed:
        return []
    words = f"{failed.failed:,} of {failed.finished:,} rollouts ({format_share(failed.share)})"
    return [("Failed", f"{words}, most often {failed.common}")]


def _write_page(session: Session, path: Path, page: bytes, *, force: bool) -> None:
    if path.exists() and not force:
        raise Conflict(f"{path} already exists", hint="overwrite it with `--force`")
    write_atomically(path, page, mode=0o644)
    session.output.done(f"Wrote {relative_path(str(path))}", value=TrainingPage(str(path)))


@local_options(YES_OR_FORCE, answer=StoppingTraining, effects=WRITES)
def stop(ctx: typer.Context, training: TrainingArg = None) -> None:
    """Stop a training after its current step.

    \b
    Example:
      prime train stop 1f2e3d4c
    \b
    See also: `prime train --resume`.
    """
    session = open_session(ctx)
    found = find_training(training, Path.cwd())
    name = found.manifest.run_id
    if not is_being_written(RunFolder(found.folder)):
        raise Conflict(f"{name} is not running", hint="see them with `prime train list`")
    path, typed = found.folder / STOP, typed_name(found.folder, Path.cwd())
    with storage_errors(path):
        path.touch()
    session.output.done(
        f"{name} stops after its current step; continue with `prime train --resume {typed}`",
        value=StoppingTraining(name),
    )


def steps_of(facts: TrainingFacts) -> str:
    """How many steps were done, of how many."""
    if facts.finished_at is not None:
        return f"{facts.step} of {facts.plan.steps}: nothing was left to learn"
    return f"{facts.step} of {facts.plan.steps}"


def evaluation_lines(facts: TrainingFacts) -> list[tuple[str, str]]:
    """The rewards on held-out examples, and the verdict."""
    lines = []
    last = max((each.step for each in facts.evaluations), default=0)
    compared: dict[tuple[int, str | None], float] = {}
    for verdict in (*facts.verdicts, *([facts.verdict] if facts.verdict else ())):
        compared[0, verdict.environment] = verdict.before
        compared[last, verdict.environment] = verdict.after
    for each in facts.evaluations:
        where = "" if each.environment is None else f", {each.environment}"
        # Of the examples that the difference is of.
        reward = compared.get((each.step, each.environment), each.reward)
        lines.append(
            (f"Reward at {each.step}{where}", format_number(reward, "none") + each.pass_words)
        )
    for verdict in facts.verdicts:
        lines += _verdict_lines(verdict, f", {verdict.environment}")
    return lines if facts.verdict is None else lines + _verdict_lines(facts.verdict)


def _verdict_lines(verdict: Verdict, where: str = "") -> list[tuple[str, str]]:
    over = ""
    if verdict.examples is not None and verdict.examples != verdict.held_out:
        over = f", over {verdict.examples:,} of {pluralize(verdict.held_out or 0, 'example')}"
    return [
        (f"Difference{where}", f"{verdict.difference_words}, p {format_p(verdict.p)}{over}"),
        (f"Verdict{where}", verdict.sentence),
    ]


def _row(found: SavedTraining) -> list[str]:
    facts, manifest = found.facts, found.manifest
    reward = ""
    if facts.verdict is not None:
        reward = format_interval((facts.verdict.before, facts.verdict.after))
    return [
        manifest.run_id,
        found.environments,
        manifest.plan.model,
        f"{facts.step} of {facts.plan.steps}",
        reward,
        _status(found),
        manifest.started,
        relative_path(str(found.folder)),
    ]


def _record(found: SavedTraining) -> TrainingRow:
    return TrainingRow(
        training=found.manifest.run_id,
        environment=found.environments,
        model=found.manifest.plan.model,
        status=_status(found),
        started=found.manifest.started,
        path=str(found.folder),
        best=found.facts.best,
        facts=found.facts,
    )


def _status(found: SavedTraining) -> str:
    return status_of(RunFolder(found.folder), found.manifest)
