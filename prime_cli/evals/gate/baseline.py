"""The run or hub evaluation that another run may not fall behind."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.evals.comparison.sides import Side, gather, own_side, side_of
from prime_cli.evals.sharing.fetched import manifest_of, rows_of_evaluation
from prime_cli.runs.listing import find_run


def read_baseline(name: str, cwd: Path, hub: Callable[[], HubClient]) -> Side:
    """The saved run `name` (id or folder), else the evaluation of that id on the hub.

    Raises NotFound where neither is, and what reaching a hub raises.
    """
    try:
        return side_of(find_run(name, cwd))
    except NotFound:
        pass
    try:
        return _on_hub(hub(), name)
    except NotFound as error:
        raise NotFound(
            f"There is no run `{name}` here and no such evaluation on the hub",
            hint="see the saved runs with `prime eval list`",
        ) from error


def _on_hub(hub: HubClient, evaluation_id: str) -> Side:
    detail = hub.evaluations.get(evaluation_id)
    examples = gather(rows_of_evaluation(hub, evaluation_id))
    manifest = manifest_of(detail)
    if manifest is not None:
        return replace(own_side(manifest, examples), run=evaluation_id)
    return Side(
        run=evaluation_id,
        environment=next(iter(detail.environment_names), detail.name),
        model=detail.model_name or "?",
        examples=examples,
    )
