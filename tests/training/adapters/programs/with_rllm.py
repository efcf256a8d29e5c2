"""Run by an interpreter with verl: the words of rLLM's example, up to the start of verl's trainer.

The program that stands for it, seen_trainer.py, asks the service that it is given.
"""

import subprocess
import sys
from pathlib import Path

from prime_adapters import rllm

environment, folder = sys.argv[1:]
code = rllm.main(
    [
        f"verifiers.env_id={environment}",
        "+verifiers.env_args={num_examples:4}",
        "+verifiers.max_samples=3",
        "+verifiers.sampling_args={temperature: 0.7}",
        "+backend=verl",
        "rllm.workflow.use_workflow=True",
        "trainer.n_gpus_per_node=1",
    ],
    trainer="seen_trainer",
)
assert code == 0, code
for words, said in (
    (["+backend=tinker"], "prime_adapters.tinker"),
    (["+verifiers.env_id=x", "+verifiers.speed=1"], "verifiers.speed is not known"),
    (["+verifiers.env_id=x", "+verifiers.env_args={a"], "verifiers.env_args"),
    (["trainer.nnodes=1"], "+verifiers.env_id is missing"),
):
    command = [sys.executable, "-m", "prime_adapters.rllm", *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert said in done.stderr
assert Path(folder).parent.is_dir()
