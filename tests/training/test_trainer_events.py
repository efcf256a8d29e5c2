"""The lines of metrics.jsonl: what a trainer says of a step, and what was counted for it."""

from typing import Any

import pytest

from prime_cli.training.trainer_events import NAMES, StepMetrics
from prime_cli.wire.rollouts import RolloutFailure, Segment, Span, TrainingRollout, TrainingStep

ASKED = (0, 0)


def rollout(
    reward: float | None, *, own: int = 2, env: int = 3, segments: int = 1, version: int = 0
) -> TrainingRollout:
    ids = list(range(env + own))
    segment = Segment(ids=ids, logprobs=[0.0] * len(ids), spans=[Span(env, env + own, version)])
    failure = RolloutFailure("infra", "Timeout", "late") if reward is None else None
    return TrainingRollout(
        example=0, rollout=0, reward=reward, error=failure, segments=[segment] * segments
    )


def line(step: int, said: dict[str, Any] | None = None, *, of: StepMetrics) -> dict[str, Any]:
    return of.line(TrainingStep(step=step, metrics=said or {}))


def test_what_the_trainer_does_not_say_is_counted() -> None:
    steps = StepMetrics()
    for reward in (1.0, 0.0, None):
        steps.add(rollout(reward), ASKED, {"step": 4}, 6)
    steps.add(rollout(0.5, segments=2, version=5), (1, 0), {"step": 4}, 6)
    assert line(4, {"loss": 0.25}, of=steps) == {
        "step": 4,
        "reward": 0.5,
        "reward_std": pytest.approx((0.5 / 3) ** 0.5),
        "no_spread": 0.0,
        "rollouts": 4,
        "errors": 1,
        "truncated": 0,
        "segments": 5,
        "forked": 1,
        "tokens_own": 10,
        "tokens_env": 15,
        "loss": 0.25,
        "version_lag": pytest.approx((3 * 6 + 2 * 1) / 5),
    }


def test_the_trainers_word_goes_before_what_was_counted_and_the_rest_is_extra() -> None:
    steps = StepMetrics()
    steps.add(rollout(1.0), ASKED, {}, None)
    found = line(0, {"reward": 0.75, "tokens/s": 9.5, "extra": {"beta": 0}}, of=steps)
    assert (found["reward"], found["rollouts"]) == (0.75, 1)
    assert found["extra"] == {"tokens/s": 9.5, "beta": 0}
    assert [name for name in found if name not in ("step", "extra")] == [
        name for name in NAMES if name in found
    ]


def test_groups_of_equal_rewards_have_no_spread() -> None:
    steps = StepMetrics()
    for reward in (0.5, 0.5):
        steps.add(rollout(reward), ASKED, {}, 0)
    for reward in (0.5, 0.6):
        steps.add(rollout(reward), (1, 0), {}, 0)
    assert line(0, of=steps)["no_spread"] == 0.5


def test_rollouts_are_counted_in_the_step_of_their_tag() -> None:
    steps = StepMetrics()
    steps.add(rollout(1.0), ASKED, {"step": 1}, 0)
    steps.add(rollout(0.0), ASKED, {"step": 2}, 0)
    assert line(1, of=steps)["reward"] == 1.0
    assert line(2, of=steps)["reward"] == 0.0
    assert line(3, of=steps) == {"step": 3}
