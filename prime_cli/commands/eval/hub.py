"""Evaluations on a hub: `prime eval get`, `samples`, `logs` and `delete`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.eval.summary import relative_path
from prime_cli.commands.options import YES_OR_FORCE, hub_options, open_session
from prime_cli.core.completion_cache import forget
from prime_cli.core.config.contexts import Context
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_apart, format_number, pluralize
from prime_cli.session import Session
from prime_cli.wire.evaluations import EvaluationDetail, MetricSummary, SamplePage, SampleQuery

EvaluationArg = Annotated[
    str, typer.Argument(metavar="EVALUATION", help="An id from `prime eval list --hub`.")
]


class SavedEvaluation(msgspec.Struct, frozen=True):
    """The local run that `--save` made."""

    run_id: str
    path: str


@hub_options(answer=(EvaluationDetail, SavedEvaluation), effects=WRITES)
def get(
    ctx: typer.Context,
    evaluation: EvaluationArg,
    save: Annotated[
        bool, typer.Option("--save", help="Save it in ./outputs/evals like a local run.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --save: replace an existing folder.")
    ] = False,
) -> None:
    """Show or download an evaluation from the hub.

    A saved evaluation can be shown, compared and rerun like a local run.

    \b
    Example:
      prime eval get ev_1f2e3d4c
      prime eval get ev_1f2e3d4c --save
    \b
    See also: `prime eval list --hub`, `prime eval samples`, `prime eval push`.
    """
    session = open_session(ctx)
    if save:
        _save_evaluation(session, evaluation, force=force)
        return
    if force:
        raise UsageError("`--force` needs `--save`")
    detail = session.hub.evaluations.get(evaluation)
    session.output.show(detail, lines=_evaluation_lines(detail, session.config.context))


def _save_evaluation(session: Session, evaluation: str, *, force: bool) -> None:
    from prime_cli.evals.sharing.download import save_evaluation

    run = save_evaluation(session.hub, evaluation, Path.cwd(), session.progress, force=force)
    path = str(run.folder.path)
    session.output.done(
        f"Saved {evaluation} in {relative_path(path)}",
        value=SavedEvaluation(run.folder.run_id, path),
    )
    session.output.hint(f"see it with `prime eval show {run.folder.run_id}`")


def _evaluation_lines(detail: EvaluationDetail, context: Context) -> list[tuple[str, str]]:
    lines = [
        ("Evaluation", detail.evaluation_id),
        ("Name", detail.name),
        ("Environment", ", ".join(_environments(detail)) or "none"),
        ("Model", detail.model_name or "unknown"),
        ("Status", detail.status + (f": {detail.error_message}" if detail.error_message else "")),
        ("Rollouts", _rollouts(detail)),
    ]
    if detail.summary is not None:
        lines.extend((name, _metric(each)) for name, each in detail.summary.metrics.items())
    else:
        lines.extend((name, str(value)) for name, value in detail.metrics.items())
    lines.append(("Seen by", seen_by(detail)))
    lines.append(("Owner", detail.owner or "unknown"))
    if detail.receipt is not None:
        lines.append(("Receipt", detail.receipt.words))
    lines.append(("Made", detail.created_at))
    if detail.viewer_url and not context.embedded:
        lines.append(("Page", context.page(detail.viewer_url)))
    return lines


def seen_by(evaluation: EvaluationDetail) -> str:
    """Who sees it, of those who see its environments."""
    return "everybody" if evaluation.is_public else "its owner"


def _environments(detail: EvaluationDetail) -> list[str]:
    if not detail.environments:
        return detail.environment_names
    return [
        each.slug + (f"@{each.semantic_version}" if each.semantic_version else "")
        for each in detail.environments
    ]


def _rollouts(detail: EvaluationDetail) -> str:
    if detail.summary is None or not detail.summary.errors:
        return f"{detail.total_samples:,}"
    return f"{detail.total_samples:,}, {detail.summary.errors:,} of them errored"


def _metric(metric: MetricSummary) -> str:
    if metric.mean is None:
        return "none"
    spread = "" if metric.std is None else f", std {format_number(metric.std)}"
    told = f"avg {format_number(metric.mean)}{spread}"
    return f"{told}, {' to '.join(format_apart((metric.min, metric.max), 'none'))}"


_COLUMNS = ("Example", "Rollout", "Reward", "Error", "Completion")

_MOST_CHARACTERS = 200

"""Characters of a completion in the table."""


@hub_options(answer=SamplePage, record=dict[str, Any])
def samples(
    ctx: typer.Context,
    evaluation: EvaluationArg,
    query: SampleQuery,
) -> None:
    """Show the samples of an evaluation on the hub.

    `--output json` and `jsonl` print complete samples, as they were pushed.

    \b
    Example:
      prime eval samples ev_1f2e3d4c --below 0.5
      prime eval samples ev_1f2e3d4c --output jsonl
    \b
    See also: `prime eval get`, `prime eval list --hub`.
    """
    session = open_session(ctx)
    hub = session.hub
    if query.is_filtered and not hub.evaluations.knows_batches:
        raise UsageError(
            f"{hub.host} cannot filter samples",
            hint=f"save them: `prime eval get {evaluation} --save`, then use `prime eval show`",
        )
    found = hub.evaluations.samples(evaluation, query)
    records = [msgspec.json.decode(each, type=dict[str, Any]) for each in found.samples]
    whole = msgspec.to_builtins(msgspec.structs.replace(found, samples=[])) | {"samples": records}
    rows = [_sample_row(each) for each in records]
    session.output.table(_COLUMNS, rows, records=records, page=whole)
    if found.has_more:
        session.output.hint(f"{found.total:,} in all; see more with `--page {query.page + 1}`")


def _sample_row(sample: Mapping[str, Any]) -> list[str]:
    reward, error = sample.get("reward"), sample.get("error")
    return [
        str(sample.get("example_id", "")),
        str(sample.get("rollout_number", "")),
        format_number(reward) if isinstance(reward, int | float) else "none",
        _sample_error(error) if error else "",
        _last_words(sample.get("completion"))[:_MOST_CHARACTERS],
    ]


def _sample_error(error: Any) -> str:
    named = error.get("error") or error.get("type") if isinstance(error, dict) else error
    return str(named or "error")


def _last_words(completion: Any) -> str:
    """The end of a conversation, which is what was scored."""
    last = completion[-1] if isinstance(completion, list) and completion else completion
    text = last.get("content") if isinstance(last, dict) else last
    if text is None:
        return ""
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)


class PrintedLogs(msgspec.Struct, frozen=True):
    """The last lines."""

    logs: str


@hub_options(answer=PrintedLogs)
def logs(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|EVALUATION]",
            help="A local run, or an evaluation on the hub.",
            show_default="the newest here",
        ),
    ] = None,
    tail: Annotated[
        int, typer.Option("--tail", "-n", min=1, help="Number of lines to show, from the end.")
    ] = 1000,
) -> None:
    """Print the environment's output in an evaluation.

    With `--context`, only searches that hub.

    \b
    Example:
      prime eval logs
      prime eval logs ev_1f2e3d4c --tail 20
    \b
    See also: `prime eval show --errors`, `prime eval get`.
    """
    session = open_session(ctx)
    text = None if run is not None and ctx.params["context"] is not None else _saved_here(run)
    if text is None:
        text = _on_the_hub(session, run or "")
    shown = "".join(text.splitlines(keepends=True)[-tail:])
    session.output.text(shown, record=PrintedLogs(shown))
    if not text:
        session.output.say("Nothing was printed, or the log was not kept")


def _saved_here(run: str | None) -> str | None:
    """The log of a run of this folder; None where there is no such run."""
    from prime_cli.evals.sharing.logs import find_log, read_log
    from prime_cli.runs.listing import find_run

    try:
        folder = find_run(run, Path.cwd()).folder
    except NotFound:
        if run is None:
            raise
        return None
    path = find_log(folder)
    return "" if path is None else read_log(path)


def _on_the_hub(session: Session, evaluation: str) -> str:
    try:
        return session.hub.evaluations.logs(evaluation)
    except NotFound as missing:
        raise NotFound(
            f"No local run `{evaluation}`, and no such evaluation on {session.hub.host}",
            hint="list local runs with `prime eval list`, the hub's with `--hub`",
        ) from missing


class DeletedEvaluation(msgspec.Struct, frozen=True):
    """The evaluation that is gone."""

    evaluation_id: str


@hub_options(YES_OR_FORCE, answer=DeletedEvaluation, effects=WRITES)
def delete(
    ctx: typer.Context,
    evaluation: EvaluationArg,
) -> None:
    """Delete an evaluation and its samples from the hub.

    Local runs stay.

    \b
    Example:
      prime eval delete ev_1f2e3d4c
    \b
    See also: `prime eval list --hub`, `prime eval push`.
    """
    session = open_session(ctx)
    hub = session.hub
    detail = hub.evaluations.get(evaluation)
    rollouts = pluralize(detail.total_samples, "rollout")
    described = f"{detail.evaluation_id} ({detail.name}, {rollouts})"
    session.output.confirm(f"Delete {described} from {hub.host}?", otherwise="Nothing was deleted")
    hub.evaluations.delete(detail.evaluation_id)
    forget("evaluations", [detail.evaluation_id])
    session.output.done(f"Deleted {described}", value=DeletedEvaluation(detail.evaluation_id))
