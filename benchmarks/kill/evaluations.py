"""`kill -9` of an evaluation's worker, or of the evaluation itself, at moments by chance.

    python benchmarks/kill/evaluations.py [ROUNDS] [--seed N]

A round is a kill. Each run is killed a few times and resumed to its end, over an environment for
verifiers 0.1, one that scores by groups, and one for verifiers 0.4, in turn. At the end every
rollout must be in results.jsonl once, as in the run that nobody killed, no line of the journal may
be gone, and the model may have been called no more often than planned and in flight at each kill;
else this ends with a traceback. tests/evals/execution/test_killed_run.py does the same.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.kills.killed_runs import KINDS, KilledRuns, Tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    begun, chance, tally = time.monotonic(), random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory(prefix="prime-kill-") as folder:
        runs = []
        for number, kind in enumerate(KINDS):
            below = Path(folder) / str(number)
            below.mkdir()
            runs.append(KilledRuns(kind, below, chance, tally))
        with suppress(KeyboardInterrupt):  # what was seen by then counts
            while tally.rounds < options.rounds:
                for each in runs:
                    each.kill_one()
                seconds = time.monotonic() - begun
                print(f"{tally.rounds} rounds in {seconds:.0f} s: all well", flush=True)
    print(*tally.lines(), f"load average {os.getloadavg()[0]:.1f}", sep="\n")


if __name__ == "__main__":
    main()
