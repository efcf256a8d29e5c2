"""The evaluations on a hub, for `prime eval list --hub`."""

from typing import Any

from prime_cli.core.completion_cache import remember
from prime_cli.session import Session
from prime_cli.wire.evaluations import EvaluationDetail

_COLUMNS = ("Evaluation", "Environment", "Model", "n x r", "Reward", "Errors", "Status", "Date")
_MOST = 100


def list_pushed(session: Session, *, num: int, page: int, environment: str | None) -> None:
    """One page of one's own evaluations and those of one's teams; at most 100 at a time."""
    rows = min(num, _MOST)
    found = session.hub.evaluations.list(
        skip=(page - 1) * rows, limit=rows, environment_name=environment
    )
    items = found.evaluations
    remember("evaluations", [item.evaluation_id for item in items])
    session.output.table(_COLUMNS, [_row(item) for item in items], records=items, page=found)
    if not found.total:
        session.output.hint("push a run that is saved here: `prime eval push`")
    elif page * rows < found.total:
        session.output.hint(f"{found.total} in all; see more with `--page {page + 1}`")


def _row(item: EvaluationDetail) -> list[str]:
    size = f"{_text(item.metadata.get('num_examples'))} x " + _text(
        item.metadata.get("rollouts_per_example")
    )
    return [
        item.evaluation_id,
        ", ".join(item.environment_names),
        item.model_name or "",
        size,
        "" if item.avg_score is None else f"{item.avg_score:.3f}",
        _errors(item),
        item.status,
        item.created_at,
    ]


def _errors(item: EvaluationDetail) -> str:
    if item.summary is None or not item.summary.samples:
        return ""
    return f"{item.summary.errors / item.summary.samples:.0%}"


def _text(number: Any) -> str:
    return "?" if number is None else str(number)
