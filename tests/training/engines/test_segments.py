"""Rollouts of several segments, of which each is a row."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.engines.programs import run


@pytest.mark.slow
@pytest.mark.network
def test_all_that_was_sampled_trains_by_the_formula_of_the_loss(
    trl: dict[str, Any], tmp_path: Path
) -> None:
    words = ("dapo:8", "dapo:2", "dapo:1", "grpo:8", "grpo:2", "grpo:1", "bnpo:8")
    found = run(trl, "train_segments.py", tmp_path, *words)
    for word, each in zip(words, found, strict=True):
        assert each["size"] > 0.01, word
        assert each["off"] < 1e-5, (word, each)
        told, sampled = each["lengths"]
        assert told == pytest.approx(sampled), word
