"""Two runs to compare, for the tests of this folder."""

from collections.abc import Sequence
from typing import Any

from prime_cli.runs.comparison.sides import Example, Side


def side(name: str, *examples: Sequence[float | None], **facts: Any) -> Side:
    """A run whose example i earned `examples[i]`, None where a rollout ended in an error."""
    found = {
        i: Example(
            prompt=f"question {i}",
            answer=f"answer {i}",
            rewards=[reward for reward in rewards if reward is not None],
            errors=sum(reward is None for reward in rewards),
        )
        for i, rewards in enumerate(examples)
    }
    return Side(name, "ada/wordle@1.2", f"model of {name}", found, **facts)
