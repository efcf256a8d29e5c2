"""The steps of a training as small curves."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.paths import storage_errors

_MARKS = "▁▂▃▄▅▆▇█"
DRAWN = ("reward", "reward_std", "no_spread", "length", "entropy", "loss", "version_lag")
"""The metrics that are shown, of those that a training has."""


def read_steps(path: Path, last: float = math.inf) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl up to step `last`, but for one that is being written."""
    if not path.is_file():
        return []
    with storage_errors(path):
        lines = path.read_bytes().split(b"\n")[:-1]
    steps: list[dict[str, Any]] = [msgspec.json.decode(line) for line in lines]
    return [step for step in steps if step["step"] <= last]


def curves_of(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """{metric: (step, value) of the steps that have it}, in the order of the lines.

    Metrics in a table are named by it, such as `seconds.train`.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for step in steps:
        for name, value in _numbers(step):
            if name != "step":
                found.setdefault(name, []).append((step["step"], value))
    return found


def _numbers(step: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, float]]:
    for name, value in step.items():
        if isinstance(value, Mapping) and not table:
            yield from _numbers(value, f"{name}.")
        elif isinstance(value, float | int) and not isinstance(value, bool):
            yield f"{table}{name}", float(value)


def throughput(step: Mapping[str, Any]) -> float | None:
    """The tokens that were sampled in a second of generating; None if the trainer reports none."""
    seconds, tokens = step.get("seconds"), step.get("tokens_own")
    generated = seconds.get("generate") if isinstance(seconds, Mapping) else None
    is_known = isinstance(generated, float | int) and isinstance(tokens, float | int)
    return tokens / generated if is_known and generated else None


def series(steps: Sequence[dict[str, Any]], name: str) -> list[float]:
    """The values of one metric, without steps that lack it."""
    found = (step.get(name) for step in steps)
    return [float(value) for value in found if isinstance(value, float | int)]


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as one line of marks; more than `width` of them are averaged."""
    if not values:
        return ""
    count = min(width, len(values))
    bounds = [len(values) * place // count for place in range(count + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(bounds)]
    low, high = min(means), max(means)
    scale = (len(_MARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_MARKS[round((mean - low) * scale)] for mean in means)
