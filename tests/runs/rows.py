"""Rows for the tests of this folder."""

from typing import Any

from prime_cli.runs.rows import Failure, Row

FAILED = Failure("infra", "APITimeoutError", "Request timed out", retryable=True)


def row(example: int, rollout: int = 0, reward: float | None = 1.0, **more: Any) -> Row:
    """A finished rollout; one without a reward ended in FAILED unless told otherwise."""
    if reward is None:
        more.setdefault("error", FAILED)
    return Row(example_id=example, rollout=rollout, reward=reward, **more)
