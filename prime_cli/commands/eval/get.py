"""`prime eval get`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.eval.views import from_here
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.errors import UsageError
from prime_cli.session import Session
from prime_cli.wire.evaluations import EvaluationDetail, MetricSummary

EvaluationArg = Annotated[
    str, typer.Argument(metavar="EVALUATION", help="An id, as `prime eval list --hub` prints it.")
]


def get(
    ctx: typer.Context,
    evaluation: EvaluationArg,
    save: Annotated[
        bool, typer.Option("--save", help="Save it below ./outputs/evals, as if it was run here.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --save: replace what was saved.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show an evaluation of the hub, or save it here.

    One that was saved is shown, compared and run again like a run of one's own.

    \b
    Example:
      prime eval get ev_1f2e3d4c
      prime eval get ev_1f2e3d4c --save
    \b
    See also: `prime eval list --hub`, `prime eval samples`, `prime eval push`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if save:
        _save(session, evaluation, force=force)
        return
    if force:
        raise UsageError("`--force` replaces what `--save` has saved: add `--save`")
    detail = session.hub.evaluations.get(evaluation)
    session.output.show(detail, lines=_lines(detail, has_pages=not session.hub.in_process))


def _save(session: Session, evaluation: str, *, force: bool) -> None:
    from prime_cli.evals.sharing.download import save_evaluation

    run = save_evaluation(session.hub, evaluation, Path.cwd(), session.progress, force=force)
    path = str(run.folder.path)
    session.output.done(
        f"Saved {evaluation} in {from_here(path)}",
        value={"run_id": run.folder.run_id, "path": path},
    )
    session.output.hint(f"see it with `prime eval show {run.folder.run_id}`")


def _lines(detail: EvaluationDetail, *, has_pages: bool) -> list[tuple[str, str]]:
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
    lines.append(("Seen by", "everybody" if detail.is_public else "its owner"))
    lines.append(("Owner", detail.owner or "unknown"))
    lines.append(("Made", detail.created_at))
    if detail.viewer_url and has_pages:
        lines.append(("Page", detail.viewer_url))
    return lines


def _environments(detail: EvaluationDetail) -> list[str]:
    if not detail.environments:
        return detail.environment_names
    return [
        each.slug + (f"@{each.semantic_version}" if each.semantic_version else "")
        for each in detail.environments
    ]


def _rollouts(detail: EvaluationDetail) -> str:
    if detail.summary is None or not detail.summary.errors:
        return str(detail.total_samples)
    return f"{detail.total_samples}, {detail.summary.errors} of them errored"


def _metric(metric: MetricSummary) -> str:
    if metric.mean is None:
        return "none"
    spread = "" if metric.std is None else f", std {metric.std:.3f}"
    return f"avg {metric.mean:.3f}{spread}, {metric.min} to {metric.max}"
