"""Commands at any moment, and `kill -9` beside some of them, leave each rollout there once.

`PRIME_TEST_SEED=…` repeats the choices of a run; each run prints its own. `benchmarks/kill` does
the same more often.
"""

import random
from pathlib import Path

import pytest

from tests.helpers.kills.session import Kind
from tests.helpers.kills.steered_runs import KINDS, SteeredRuns, Tally
from tests.helpers.seed import runs_every_case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the worker in /proc"),
]

COMMANDS = 20 if runs_every_case() else 8
"""For each kind."""


@pytest.mark.sample(1, "kind")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_commands_and_kills_leave_each_rollout_there_once(
    kind: Kind, tmp_path: Path, seed: int
) -> None:
    tally = Tally()
    runs = SteeredRuns(kind, tmp_path, random.Random(seed), tally)
    while tally.commands < COMMANDS:
        runs.steer_one()
    print(*tally.lines(), sep="\n")
