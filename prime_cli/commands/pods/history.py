"""`prime pods history`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.words import lived_words, price_words, short_ids
from prime_cli.pods.past import EndedPod, list_ended

_COLUMNS = ("Name", "Id", "GPU", "Ended", "Duration", "Cost", "Provider", "Team")


def history(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the pods that ended, the last first.

    Each with what it came to.

    \b
    Example:
      prime pods history --limit 10
      prime pods history --output json
    \b
    See also: `prime pods list`, `prime pods status`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    found = list_ended(session.hub, offset=offset, limit=limit)
    ids = [pod.id for pod in found.history]
    short = ids if session.output.mode == "plain" else short_ids(ids)
    rows = [_row(pod, name) for pod, name in zip(found.history, short, strict=True)]
    session.output.table(_COLUMNS, rows, records=found.history, page=found)
    if not rows and not offset:
        session.output.say("No pod has ended yet")
    if found.more:
        session.output.hint(f"{found.more} more with `--offset {offset + len(rows)}`")


def _row(pod: EndedPod, short: str) -> list[str]:
    return [
        pod.name or "-",
        short,
        pod.gpu,
        pod.terminated_at or "-",
        lived_words(pod.created_at, pod.terminated_at),
        price_words(pod.total_cost),
        pod.provider,
        pod.team_id or "-",
    ]
