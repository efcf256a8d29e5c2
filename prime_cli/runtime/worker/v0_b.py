"""verifiers 0.1.6 to 0.1.9: `generate` is asynchronous; its input changes shape at 0.1.8."""

import copy
import inspect
from typing import Any

from .rows import Row
from .spec import Spec
from .v0_a import columns, outcome


class FamilyBEarly:
    """0.1.6 and 0.1.7: columns in, columns out."""

    name = "B"

    def __init__(self, environment: Any, spec: Spec, client: Any) -> None:
        self._environment = environment
        self._spec = spec
        self._client = client

    @classmethod
    def fits(cls, environment: Any) -> bool:
        return inspect.iscoroutinefunction(environment.generate)

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        result = await self._generate(columns(row, example, count))
        return [outcome(result, position) for position in range(count)]

    async def _generate(self, inputs: Any) -> Any:
        return await self._environment.generate(
            inputs,
            client=self._client,
            model=self._spec.model,
            sampling_args=dict(self._spec.sampling),
            use_tqdm=False,
        )


class FamilyB(FamilyBEarly):
    """0.1.8 and 0.1.9: a list of rows in, columns out; the rows of one example are a group."""

    @classmethod
    def fits(cls, environment: Any) -> bool:
        early = super().fits(environment)
        return early and "input" in inspect.signature(environment.rollout).parameters

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        own = {"example_id": example, "task": "default", "answer": "", "info": {}}
        own.update({name: value for name, value in row.items() if value is not None})
        result = await self._generate([copy.deepcopy(own) for _ in range(count)])
        return [outcome(result, position) for position in range(count)]
