from typing import Any

import pytest

from prime_cli.wire.evaluations import EvaluationDetail


@pytest.mark.parametrize(
    ("status", "metadata", "words"),
    [
        ("RUNNING", {"num_examples": 20, "rollouts_per_example": 100}, "1,200 of 2,000"),
        ("RUNNING", {"num_examples": -1, "rollouts_per_example": 2}, "1,200"),
        ("RUNNING", {"num_examples": "20", "rollouts_per_example": True}, "1,200"),
        ("PENDING", {}, "1,200"),
        ("COMPLETED", {"num_examples": 20, "rollouts_per_example": 100}, ""),
        ("FAILED", {}, ""),
    ],
)
def test_an_evaluation_that_goes_on_says_how_far_it_is(
    status: str, metadata: dict[str, Any], words: str
) -> None:
    detail = EvaluationDetail("ev_1", status=status, metadata=metadata, total_samples=1200)

    assert detail.progress == words
