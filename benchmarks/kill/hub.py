"""`kill -9` of the served hub at moments by chance, while a client publishes or pushes evaluations.

    python benchmarks/kill/hub.py [ROUNDS] [--seed N] [--database postgresql://… --storage s3://…]

After each kill the hub is started again on the same data. What was under way must be there whole or
not at all, and the same command of the client must end it well; else this ends with a traceback.
Data is kept in a temporary folder, or in the (empty) database and the bucket that are named.
"""

import argparse
import os
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.kills.rounds import run_rounds
from tests.helpers.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--database")
    parser.add_argument("--storage")
    options = parser.parse_args()
    argv = [
        word
        for name in ("database", "storage")
        if (value := getattr(options, name))
        for word in (f"--{name}", value)
    ]
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="prime-kill-") as folder:
        start = partial(serve, Path(folder) / "hub", *argv)
        made = Path(folder) / "made"
        tally = run_rounds(start, made, seed=options.seed, rounds=options.rounds)
    print(*tally.lines(), f"load average {os.getloadavg()[0]:.1f}", sep="\n")


if __name__ == "__main__":
    main()
