"""`prime eval delete`."""

import typer

from prime_cli.commands.eval.get import EvaluationArg
from prime_cli.commands.options import (
    ContextOpt,
    NoQuestionOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.completion_cache import forget


def delete(
    ctx: typer.Context,
    evaluation: EvaluationArg,
    yes: NoQuestionOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Delete an evaluation from the hub, with its samples.

    A run that is saved here stays.

    \b
    Example:
      prime eval delete ev_1f2e3d4c
    \b
    See also: `prime eval list --hub`, `prime eval push`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    detail = hub.evaluations.get(evaluation)
    rollouts = "1 rollout" if detail.total_samples == 1 else f"{detail.total_samples} rollouts"
    described = f"{detail.evaluation_id} ({detail.name}, {rollouts})"
    session.output.confirm(
        f"Delete {described} from {hub.host}?", yes=yes, otherwise="Nothing was deleted"
    )
    hub.evaluations.delete(detail.evaluation_id)
    forget("evaluations", [detail.evaluation_id])
    session.output.done(f"Deleted {described}", value={"evaluation_id": detail.evaluation_id})
