"""vLLM itself in the TRL engine, on a CPU.

PRIME_VLLM_PYTHON names an interpreter with TRL and a vLLM for the CPU, which tests do not install.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prime_cli.training.engines.catalogue import BUILT_IN
from tests.helpers.environments import small_interpreter
from tests.helpers.training import Trained, train_scripted
from tests.training.test_real_training import PLAN, VOWELS

pytestmark = pytest.mark.slow

# Read when this is imported, since each test is given an environment without it.
PYTHON = os.environ.get("PRIME_VLLM_PYTHON")
# vLLM has no kernel of a CPU for the heads of builtin/tiny.
MAKE_MODEL = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from prime_trl import tiny

tiny._WIDTH, tiny._HEADS = 128, 4
tiny.write_tiny_model(Path(sys.argv[2]), 0)
"""
_MOST = 0.05
"""Nats between vLLM's numbers in bfloat16 and those of the trainer in single precision."""


@pytest.mark.parametrize(
    "plan", [{"steps": 25, "eval_examples": 12}, {"steps": 12, "lora": 8, "lr": 0.02}]
)
def test_a_model_learns_from_what_vllm_samples_with_its_newest_weights(
    plan: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = _train(tmp_path, monkeypatch, plan)
    lines = (trained.folder / "metrics.jsonl").read_bytes().splitlines()
    steps = [json.loads(line) for line in lines]
    assert max(step["logprob_gap"] for step in steps) < _MOST
    assert all(step["segments"] == step["rollouts"] == 64 for step in steps)
    assert steps[-1]["reward"] > 2 * steps[0]["reward"]
    if "eval_examples" in plan:
        verdict = trained.result.facts.verdict
        assert verdict is not None
        assert (verdict.verdict, verdict.p < 0.01) == ("higher", True)


def _train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, Any]) -> Trained:
    if PYTHON is None:
        pytest.skip("vLLM for a CPU is not at hand: PRIME_VLLM_PYTHON names no interpreter")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    model = tmp_path / "tiny"
    made = [PYTHON, "-c", MAKE_MODEL, str(BUILT_IN / "trl"), str(model)]
    subprocess.run(made, check=True, timeout=120)
    own = {**PLAN, "model": str(model), "save_every": 25, **plan}
    return train_scripted(
        small_interpreter(tmp_path / "vowels", VOWELS),
        tmp_path / "run",
        engine=BUILT_IN / "trl",
        python=Path(PYTHON),
        vllm=True,
        **own,
    )
