"""How often `prime eval compare` finds what is not there, and how often its interval is right.

    python benchmarks/statistics/calibration.py [PAIRS] [SEED]

Makes PAIRS (10,000) pairs of runs without a true difference in each kind of environment, and
judges them as the command does; draws intervals for a fifth as many, without and with a true
difference of 0.1. Prints the share of the first that is called decisive at 0.05, the share of
95 % intervals that hold the true difference, how often 0.1 is found, and the share of comparisons
that have no interval because too few examples differ.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.runs.comparison.simulation import WORLDS, coverage, share_found

PAIRS = 10_000
SEED = 20261121
GAIN = 0.1
WORKERS = 2


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    print(f"{pairs} null pairs, {pairs // 5} with a difference of {GAIN}, seed {seed}\n")
    print("| rewards | called decisive | null covered | 0.1 covered | 0.1 found | no interval |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(measure, place, pairs, seed) for place in range(len(WORLDS))]
        for job in jobs:
            print(job.result(), flush=True)


def measure(place: int, pairs: int, seed: int) -> str:
    """A line of the table, of WORLDS[place]."""
    world, fewer = WORLDS[place], pairs // 5
    decisive = share_found(world, 0.0, pairs, seed=seed)
    null = coverage(world, 0.0, fewer, seed=seed + 1)
    real = coverage(world, GAIN, fewer, seed=seed + 2)
    power = share_found(world, GAIN, fewer, seed=seed + 3)
    return (
        f"| {world.name} | {decisive:.2%} | {null.covered:.2%} | {real.covered:.2%} "
        f"| {power:.1%} | {null.without:.2%} |"
    )


if __name__ == "__main__":
    main()
