"""verifiers up to 0.1.5: `a_generate` takes columns, and answers with columns."""

import copy
import inspect
import json
from typing import Any

from .rows import Row
from .spec import Spec


class FamilyA:
    """Rollouts of an environment whose `generate` is synchronous, beside an `a_generate`."""

    name = "A"

    def __init__(self, environment: Any, spec: Spec, client: Any) -> None:
        self._environment = environment
        self._spec = spec
        self._client = client

    @classmethod
    def fits(cls, environment: Any) -> bool:
        return hasattr(environment, "a_generate") and not inspect.iscoroutinefunction(
            environment.generate
        )

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        result = await self._environment.a_generate(
            columns(row, example, count),
            client=self._client,
            model=self._spec.model,
            sampling_args=dict(self._spec.sampling),
        )
        return [outcome(result, position) for position in range(count)]


def columns(row: Row, example: int, count: int) -> dict[str, list[Any]]:
    """An example as the columns of `count` equal rows."""
    shared = {
        "prompt": row.get("prompt"),
        "answer": "" if row.get("answer") is None else row["answer"],
        "task": row.get("task") or "default",
        "example_id": row.get("example_id", row.get("id", example)),
    }
    table = {name: [value] * count for name, value in shared.items()}
    # One each: rollouts write into theirs.
    table["info"] = [_info(row.get("info")) for _ in range(count)]
    return table


def outcome(result: Any, position: int) -> Row:
    """One rollout out of a result's columns; results are models or, from 0.1.8 on, dicts."""

    def column(name: str) -> Any:
        return result[name] if isinstance(result, dict) else getattr(result, name)

    # Columns of metrics are short where a rollout has no such metric.
    metrics = {
        name: values[position]
        for name, values in (column("metrics") or {}).items()
        if position < len(values)
    }
    return {
        "prompt": column("prompt")[position],
        "completion": column("completion")[position],
        "reward": column("reward")[position],
        "metrics": metrics,
    }


def _info(info: Any) -> dict[str, Any]:
    if isinstance(info, str):
        info = json.loads(info)
    return copy.deepcopy(dict(info)) if info else {}
