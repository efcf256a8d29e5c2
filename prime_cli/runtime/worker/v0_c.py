"""verifiers 0.1.10 to 0.3.1: `run_group` of rows, with one output for each."""

import copy
import inspect
from typing import Any

from .client import wrapped_for_verifiers
from .rows import Row
from .spec import Spec


class FamilyC:
    """Rollouts by `run_group`, also for a single one: it scores rubrics without functions too."""

    name = "C"

    def __init__(self, environment: Any, spec: Spec, client: Any) -> None:
        self._environment = environment
        self._model = spec.model
        self._client = wrapped_for_verifiers(client, environment, spec)
        self._sampling = copy.deepcopy(dict(getattr(environment, "sampling_args", None) or {}))
        self._sampling.update(spec.sampling)

    @classmethod
    def fits(cls, environment: Any) -> bool:
        run_group = getattr(environment, "run_group", None)
        return run_group is not None and "max_retries" in inspect.signature(run_group).parameters

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        inputs = [{"example_id": example, **copy.deepcopy(row)} for _ in range(count)]
        outputs = await self._environment.run_group(
            inputs, self._client, self._model, copy.deepcopy(self._sampling)
        )
        return [self._outcome(output) for output in outputs]

    def _outcome(self, output: Any) -> Row:
        found = {name: output.get(name) for name in ("prompt", "completion", "reward", "metrics")}
        tokens = output.get("token_usage")
        if tokens:
            found["usage"] = {
                "input": int(tokens.get("input_tokens") or 0),
                "output": int(tokens.get("output_tokens") or 0),
            }
        return found
