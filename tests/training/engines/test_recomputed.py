"""A group of rollouts under other chat templates, recomputed by code that shares none with it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.environments import interpreter_with
from tests.helpers.rollout_service import Trainer, serve
from tests.runtime.worker.runs import ENVIRONMENTS
from tests.training.engines.programs import PROGRAMS

LETTERS = """
def messages(completion, **kwargs):
    return float(sum(len(each["content"]) for each in completion) % 7)
"""
QUESTIONS = ["begin", "go on 1", "go on 2"]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("template", ["gemma3", "llama3_1", "qwen3"])
def test_ids_spans_log_probabilities_and_the_gradient_are_right(
    template: str, trl: dict[str, Any], tmp_path: Path
) -> None:
    source = Path(ENVIRONMENTS, "talk_new.py").read_text(encoding="utf-8")
    start, end = source.index("def messages"), source.index("def load_environment")
    interpreter = interpreter_with(
        tmp_path, source[:start] + LETTERS + source[end:], verifiers="0.1.14"
    )
    played: list[dict[str, Any]] = []

    def scenario(trainer: Trainer) -> None:
        sampling = {"temperature": 1.0, "max_tokens": 150}
        trainer.set_policy(url, api_key=key, sampling=sampling)
        played.extend(trainer.rollouts(example=0, n=4))

    with subprocess.Popen(
        [trl["python"], PROGRAMS / "train_templates.py", tmp_path / "model", template],
        env={**os.environ, "PYTHONPATH": str(trl["engine"])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as policy:
        assert policy.stdout is not None
        url, key = policy.stdout.readline().split()
        serve(interpreter, tmp_path, scenario)
        out, _ = policy.communicate(json.dumps([QUESTIONS, played]) + "\n", timeout=300)
    found = json.loads(out)
    ends = 0
    for rollout, (ids, spans) in zip(played, found["expected"], strict=True):
        (segment,) = rollout["segments"]
        assert segment["ids"] == ids
        assert [span[:2] for span in segment["spans"]] == spans
        ends += sum(ids[end - 1] == found["end"] for _, end in spans)
    # Answers that ended, and answers that were cut, which the template ends itself.
    assert 0 < ends < 12
    assert found["nats_off"] < 1e-4
    assert found["gradient_size"] > 0.001
    assert found["gradient_off"] < 1e-5
