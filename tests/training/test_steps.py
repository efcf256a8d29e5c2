"""What a training shows of itself: what runs now, the last step, and the time left."""

from collections import Counter

import msgspec

from prime_cli.training.steps import StepProgress
from tests.helpers.training import TRAINING_PLAN

PLAN = msgspec.structs.replace(TRAINING_PLAN, steps=5, batch=2, group=4)


class ShownTask:
    """A task that keeps what it was told."""

    def __init__(self) -> None:
        self.done = 0
        self.note = ""

    def advance(self, amount: int = 1) -> None:
        self.done += amount

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        self.note = self.note if note is None else note


class Screen:
    """A training at a clock that the test sets."""

    def __init__(self, step: int = 0) -> None:
        self.now = 0.0
        self.task = ShownTask()
        self.played: Counter[int] = Counter()
        self.shown = StepProgress(PLAN, self.task, step, engine="TRL", clock=lambda: self.now)

    def look(self, now: float, *, has_policy: bool = True) -> str:
        self.now = now
        self.shown.look(self.played.__getitem__, has_policy=has_policy)
        return self.task.note


def test_before_the_first_step_its_start_and_the_probe_are_shown() -> None:
    screen = Screen()
    assert screen.look(1, has_policy=False) == "starting TRL"
    screen.played[0] = 5
    assert screen.look(9) == "probe: 5 rollouts"
    with screen.shown.evaluating():
        assert screen.look(12) == ""
    assert screen.look(13) == ""


def test_the_time_left_is_omitted_where_no_step_was_added() -> None:
    screen = Screen(step=3)
    screen.shown.add_step(3, {"reward": 0.5})
    assert screen.task.note == "reward 0.5"


def test_the_time_left_counts_from_the_first_step() -> None:
    screen = Screen()
    screen.look(1000)
    screen.now = 1010
    screen.shown.add_step(1, {"reward": 0.5, "tokens_own": 30, "seconds": {"generate": 3}})
    assert screen.task.note == "reward 0.5, 10 tokens/s, 40s left"
    screen.now = 1014
    screen.shown.add_step(2, {"reward": 0.5, "reward_std": 0.1, "length": 7})
    assert screen.task.note == "reward 0.5, spread 0.1, length 7, 21s left"
    assert screen.task.done == 2


def test_a_slow_step_shows_its_rollouts_and_then_its_update() -> None:
    screen = Screen(step=3)
    screen.look(10)
    screen.played[4] = 3
    assert screen.look(14) == "step 4: 3 of 8 rollouts"
    screen.played[4] = 8
    assert screen.look(20) == "step 4: updating the weights"
    screen.shown.add_step(4, {"reward": 1.0})
    assert screen.look(21) == "reward 1, 10s left"
    screen.played[5] = 1
    assert screen.look(25) == "step 5: 1 of 8 rollouts, reward 1, 10s left"
    screen.shown.add_step(5, {"reward": 1.0})
    assert screen.look(90) == "reward 1, 0s left"
