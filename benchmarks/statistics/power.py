"""The power that `prime eval power` promises against the one that `prime eval compare` delivers.

    python benchmarks/statistics/power.py [PAIRS] [SEED]

Plans each comparison for a power of 0.8, draws PAIRS (4,000) pairs of runs of that size, and judges
each pair by the function that the command calls. The standard error of a share is 0.006.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.runs.comparison.delivered_power import DESIGNS, delivered_one_by_one

PAIRS = 4_000
SEED = 20261122


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    print(f"{pairs} pairs of runs, seed {seed}\n")
    print("| rewards | rollouts | examples | promised | delivered |")
    print("|---|---|---|---|---|")
    for design in DESIGNS:
        need = design.need()
        size, promised = need.examples or 0, need.expected_power or 0.0
        found = delivered_one_by_one(design, size, pairs, seed=seed)
        missed = "!" if abs(found - promised) > 0.02 else ""
        line = (
            f"| {design.name} | {design.rollouts} | {size} | {promised:.3f} | {found:.3f}{missed} |"
        )
        print(line, flush=True)


if __name__ == "__main__":
    main()
