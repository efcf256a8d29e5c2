"""Seconds and memory of `prime eval merge`.

    python benchmarks/eval/merging.py [--rollouts 1000000] [--parts 8] [--work FOLDER]

Writes the parts of a run, of a few hundred bytes a rollout, and merges them in a process whose
largest resident size is printed. Linux only.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import time
from pathlib import Path

import msgspec

from prime_cli.runs.folder import Journal, RunFolder
from prime_cli.runs.manifest import FINISHED, RunManifest, save_manifest
from prime_cli.runs.plan import EvalPlan, RunEnvironment
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber

PLAN = EvalPlan(
    environment=RunEnvironment("wordle", "1.2", "wordle", "ab" * 32, ref="ada/wordle@1.2"),
    model="org/model",
    endpoint="http://localhost:8000/v1",
    num_examples=1,
    rollouts_per_example=4,
    sampling={},
)


def write_part(folder: RunFolder, number: int, count: int, examples: int) -> None:
    """Part `number` of `count`, its examples finished in a random order."""
    plan = msgspec.structs.replace(PLAN, num_examples=examples)
    plan = plan.with_option("shard", f"{number}/{count}")
    own = range(number - 1, examples, count)
    draw = random.Random(number)
    pairs = [(example, r) for example in own for r in range(PLAN.rollouts_per_example)]
    draw.shuffle(pairs)
    manifest = RunManifest(
        run_id=folder.run_id,
        plan=plan,
        started="2026-01-02T03:04:05+00:00",
        status=FINISHED,
        examples=examples,
        planned=len(pairs),
        fingerprint="f" * 64,
        unit="rollout",
    )
    folder.path.mkdir(parents=True)
    save_manifest(folder.manifest, manifest, Scrubber({}))
    with Journal(folder.journal, Scrubber({})) as journal:
        for example, rollout in pairs:
            journal.append(_row(example, rollout, draw.random()))


def _row(example: int, rollout: int, reward: float) -> Row:
    return Row(
        example_id=example,
        rollout=rollout,
        reward=reward,
        metrics={"format": 1.0, "turns": 2.0},
        prompt=[{"role": "user", "content": f"What is {example} times {rollout}? " * 3}],
        completion=[{"role": "assistant", "content": str(example * rollout)}],
        answer=str(example * rollout),
        timing={"generation": 1.25, "scoring": 0.01},
        usage={"calls": 1, "input": 30, "output": 3, "cost": 0.0001},
        cost=0.0001,
        stop_condition="max_turns_reached",
    )


def main() -> None:
    """Write the parts, merge them, print one line."""
    parser = argparse.ArgumentParser(description="memory of a merge")
    parser.add_argument("--rollouts", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--work", type=Path, default=Path("bench-merge-work"))
    parser.add_argument("--prime", default=shutil.which("prime") or "prime")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    examples = options.rollouts // PLAN.rollouts_per_example
    for number in range(1, options.parts + 1):
        folder = RunFolder(options.work / "parts" / f"{number:08x}")
        write_part(folder, number, options.parts, examples)
    began = time.monotonic()
    subprocess.run(
        [options.prime, "eval", "merge", "parts", "--quiet"], cwd=options.work, check=True
    )
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    size = sum(path.stat().st_size for path in options.work.glob("parts/*/journal.jsonl")) >> 20
    print(
        f"{options.rollouts:,} rollouts of {options.parts} parts ({size} MiB): {seconds:.0f} s, "
        f"peak {peak:.0f} MiB, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
