"""Which rewards of a run are not those of the run that it makes again."""

import math
from collections.abc import Iterable

import msgspec

from prime_cli.runs.rows import Row

SHOWN = 10
"""So many differences are listed."""


class ChangedReward(msgspec.Struct, frozen=True):
    """One rollout whose reward is another one; null is an error."""

    example_id: int
    rollout: int
    before: float | None
    now: float | None


class RewardChanges(msgspec.Struct, frozen=True):
    """Both runs rollout by rollout: `same` and `different` count those that both have.

    `before` and `now` are the mean rewards over the rollouts that have one in both; `first` lists
    the first differences.
    """

    same: int
    different: int
    only_before: int
    only_now: int
    before: float | None
    now: float | None
    first: list[ChangedReward]


def changed_rewards(before: Iterable[Row], now: Iterable[Row]) -> RewardChanges:
    """Compare two runs; rewards are the same to nine digits, as sums of floats may be rounded."""
    was = {(row.example_id, row.rollout): row.reward for row in before}
    came = {(row.example_id, row.rollout): row.reward for row in now}
    common = sorted(was.keys() & came.keys())
    changed = [pair for pair in common if not _is_same(was[pair], came[pair])]
    both = ((was[pair], came[pair]) for pair in common)
    scored = [(b, n) for b, n in both if b is not None and n is not None]
    return RewardChanges(
        same=len(common) - len(changed),
        different=len(changed),
        only_before=len(was) - len(common),
        only_now=len(came) - len(common),
        before=_mean([b for b, _ in scored]),
        now=_mean([n for _, n in scored]),
        first=[ChangedReward(*pair, was[pair], came[pair]) for pair in changed[:SHOWN]],
    )


def _mean(rewards: list[float]) -> float | None:
    return math.fsum(rewards) / len(rewards) if rewards else None


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
