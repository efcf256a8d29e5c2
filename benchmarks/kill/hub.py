"""`kill -9` of the served hub at moments by chance, while a client publishes or pushes evaluations.

    python benchmarks/kill/hub.py [ROUNDS] [--seed N]

After each kill the hub is started again on the same data. What was under way must be there whole or
not at all, and the same command of the client must end it well; else this ends with a traceback.
Data is on SQLite and files in a temporary folder, a new one every 25 rounds. What tests/hub/faults
does is the same, and a few rounds of it on PostgreSQL and a bucket.
"""

import argparse
import os
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.kills.rounds import Tally, run_rounds
from tests.helpers.serving import serve

AT_ONCE = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    tally = Tally()
    for part in range(-(-options.rounds // AT_ONCE)):
        with tempfile.TemporaryDirectory(prefix="prime-kill-") as folder:
            start = partial(serve, Path(folder) / "hub")
            rounds = min(AT_ONCE, options.rounds - tally.rounds)
            seed = options.seed + part
            tally.add(run_rounds(start, Path(folder) / "made", seed=seed, rounds=rounds))
        print(f"{tally.rounds} rounds: all well", flush=True)
    print(*tally.lines(), f"load average {os.getloadavg()[0]:.1f}", sep="\n")


if __name__ == "__main__":
    main()
