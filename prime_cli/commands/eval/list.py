"""`prime eval list`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.eval.hub import seen_by
from prime_cli.commands.eval.summary import relative_path
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_number, format_share, format_size, format_usd
from prime_cli.evals.planning.parsers import parse_names
from prime_cli.runs.listing import RunItem, RunRoots, list_runs
from prime_cli.session import Session
from prime_cli.wire.evaluations import EvaluationDetail, EvaluationPage, EvaluationQuery

_HUB_ROWS = 20

_COLUMNS: tuple[str, ...] = (
    "Run",
    "Environment",
    "Model",
    "Reward",
    "Status",
    "Date",
    "Rollouts",
    "Errors",
    "Cost",
    "Path",
)


class SavedRuns(msgspec.Struct, frozen=True):
    """Runs saved here; `total` counts those of all pages."""

    evaluations: list[RunItem]
    total: int


@hub_options(answer=(SavedRuns, EvaluationPage), record=(RunItem, EvaluationDetail))
def list_saved(
    ctx: typer.Context,
    num: Annotated[
        int | None,
        typer.Option("--num", "-n", min=1, help="Maximum number of rows.", show_default="all"),
    ] = None,
    page: Annotated[int, typer.Option("--page", "-p", min=1, help="Which page.")] = 1,
    *,
    query: EvaluationQuery,
    hub: Annotated[
        bool, typer.Option("--hub", help="List the hub's; implied by --context.")
    ] = False,
    outputs_dir: Annotated[
        Path | None,
        typer.Option("--outputs-dir", metavar="DIR", help="Other runs.", show_default="./outputs"),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Only runs with this tag; repeatable."),
    ] = None,
) -> None:
    """List evaluations saved here or on the hub.

    Searches `./outputs` and `./environments/*/outputs`, including runs of vf-eval.

    \b
    Example:
      prime eval list --output json
      prime eval list --tag baseline
      prime eval list --hub --env ada/wordle
    \b
    See also: `prime eval show`, `prime eval get`, `prime eval run`.
    """
    session = open_session(ctx)
    if hub or ctx.params["context"] is not None:
        if tag:
            raise UsageError("`--tag` applies only to local runs")
        _list_on_hub(session, query, num=num or _HUB_ROWS, page=page)
        return
    wanted, env = set(parse_names(tag or [])), query.environment_name
    found = [
        item
        for item in list_runs(Path.cwd(), RunRoots(outputs_dir))
        if (env is None or item.is_of(env)) and wanted <= set(item.tags)
    ]
    start = (page - 1) * (num or 0)
    items = found[start:][:num]
    whole = SavedRuns(items, len(found))
    columns, rows = _COLUMNS, [_row(item) for item in items]
    if any(item.tags for item in items):
        columns = (*_COLUMNS, "Tags")
        rows = [[*row, ", ".join(item.tags)] for row, item in zip(rows, items, strict=True)]
    session.output.table(columns, rows, records=items, page=whole)
    if not found:
        session.output.hint("create one: `prime eval run starter/alphabet-sort -m builtin/oracle`")


def _row(item: RunItem) -> list[str]:
    size = format_size(item.num_examples, item.rollouts_per_example)
    size += f", {item.shard}" if item.shard else ""
    return [
        item.run_id,
        item.environment,
        item.model,
        format_number(item.reward),
        f"{item.status}, {item.progress}" if item.progress else item.status,
        item.date,
        size,
        "" if item.errors is None else format_share(item.errors),
        _cost(item),
        relative_path(item.path),
    ]


def _cost(item: RunItem) -> str:
    if item.cost is not None:
        return format_usd(item.cost)
    return f">= {format_usd(item.known_cost)}" if item.known_cost else ""


_HUB_COLUMNS = (
    *("Evaluation", "Environment", "Model", "Reward", "Status", "Date", "Rollouts", "Errors"),
    "Seen by",
)

_MOST_HUB_ROWS = 100


def _list_on_hub(session: Session, query: EvaluationQuery, *, num: int, page: int) -> None:
    """One page of one's own evaluations and those of one's teams; at most 100 at a time."""
    rows = min(num, _MOST_HUB_ROWS)
    query = msgspec.structs.replace(query, skip=(page - 1) * rows, limit=rows)
    found = session.hub.evaluations.list(query)
    items = found.evaluations
    remember("evaluations", [item.evaluation_id for item in items])
    session.output.table(
        _HUB_COLUMNS, [_hub_row(item) for item in items], records=items, page=found
    )
    if not found.total:
        session.output.hint("push a local run with `prime eval push`")
    elif page * rows < found.total:
        session.output.hint(f"{found.total:,} in all; see more with `--page {page + 1}`")


def _hub_row(item: EvaluationDetail) -> list[str]:
    size = map(item.metadata.get, ("num_examples", "rollouts_per_example"))
    return [
        item.evaluation_id,
        ", ".join(item.environment_names),
        item.model_name or "",
        format_number(item.avg_score),
        f"{item.status}, {item.progress}" if item.progress else item.status,
        item.created_at,
        format_size(*size),
        _hub_errors(item),
        seen_by(item),
    ]


def _hub_errors(item: EvaluationDetail) -> str:
    if item.summary is None or not item.summary.samples:
        return ""
    return format_share(item.summary.errors / item.summary.samples)
