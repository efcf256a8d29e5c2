"""Commands of `prime eval ctl` at moments by chance, and `kill -9` of worker or run beside them.

    python benchmarks/kill/steering.py [COMMANDS] [--seed N] [--seconds N]

At the end of each run, which is resumed until then, every rollout must be in results.jsonl once,
what was cancelled must be neither scored nor an error, what was asked for again must be of a later
attempt, and run.json must have all that was answered; else this ends with a traceback.
tests/evals/control/test_killed_steering.py does the same.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.kills.steered_runs import KINDS, SteeredRuns, Tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    begun, chance, tally = time.monotonic(), random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory(prefix="prime-kill-") as folder:
        runs = []
        for number, kind in enumerate(KINDS):
            below = Path(folder) / str(number)
            below.mkdir()
            runs.append(SteeredRuns(kind, below, chance, tally))
        while tally.commands < options.commands and time.monotonic() - begun < options.seconds:
            for each in runs:
                each.steer_one()
            seconds = time.monotonic() - begun
            print(f"{tally.commands} commands in {seconds:.0f} s: all well", flush=True)
    print(*tally.lines(), f"load average {os.getloadavg()[0]:.1f}", sep="\n")


if __name__ == "__main__":
    main()
