"""The rollouts that a worker still has to run, after earlier sessions or a worker that died."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from prime_cli.runs import rows
from prime_cli.runs.plan import RunChange
from prime_cli.runs.rows import OnResume, Step
from prime_cli.runs.tally import Attempt, RolloutKey, Tally

GROUP = "group"
"""The unit of environments that score an example's rollouts together."""

_ASKED = frozenset({rows.INFRA, rows.REQUESTED})


@dataclass(frozen=True)
class WorkList:
    """What a worker receives besides the plan.

    `done` need not run; `attempts` are the first attempt numbers of others, if not 1. `again` is
    why an attempt is not the first (`Row.again`). The first `prefix` examples must have
    `fingerprint`.
    """

    concurrency: int
    done: list[RolloutKey] = field(default_factory=list)
    attempts: dict[RolloutKey, int] = field(default_factory=dict)
    again: Mapping[RolloutKey, str] = field(default_factory=dict)
    prefix: int = 0
    fingerprint: str | None = None

    @property
    def to_score(self) -> frozenset[RolloutKey]:
        """Those to be scored from their saved answers."""
        return frozenset(pair for pair, why in self.again.items() if why == rows.SCORED)


def owed_again(
    tally: Tally, unit: str | None, rollouts: int, *, retry_errors: bool = False
) -> dict[RolloutKey, str]:
    """The rollouts in `tally` that need another attempt, and why (`Row.again`).

    With `retry_errors`, all that ended in an error are asked again. Groups are all or nothing.
    """
    if unit != GROUP:
        reasons = ((a.pair, _reason(a.step, retry_errors=retry_errors)) for a in tally.attempts())
        return {pair: reason for pair, reason in reasons if reason is not None}
    found: dict[RolloutKey, str] = {}
    for group in _groups(tally):
        found.update(_owed_group(group, rollouts, retry_errors=retry_errors))
    return found


def _reason(step: Step | None, *, retry_errors: bool) -> str | None:
    match step:
        case None:
            return None
        case Step.ASK:
            return rows.INFRA
        case Step.SCORE | Step.KEEP | Step.CANCELLED if retry_errors:
            return rows.REQUESTED
        case Step.SCORE:
            return rows.SCORED
        case Step.KEEP | Step.CANCELLED:
            return None


def _owed_group(
    group: list[Attempt], rollouts: int, *, retry_errors: bool
) -> dict[RolloutKey, str]:
    """A group is asked again together, or scored from the saved answers of all of it."""
    reasons = {last.pair: _reason(last.step, retry_errors=retry_errors) for last in group}
    given = {reason for reason in reasons.values() if reason is not None}
    if _is_whole(group, rollouts) and not given & _ASKED:
        if not given or any(last.step is Step.KEEP for last in group):
            return {}
        return dict.fromkeys(reasons, rows.SCORED)
    return {pair: why if why in _ASKED else rows.GROUP for pair, why in reasons.items()}


def _groups(tally: Tally) -> Iterator[list[Attempt]]:
    for _, members in groupby(tally.attempts(), key=lambda last: last.pair[0]):
        yield list(members)


def _is_whole(group: list[Attempt], rollouts: int) -> bool:
    # Rewards of a group belong together: those of two attempts do not.
    return len(group) == rollouts and len({last.number for last in group}) == 1


def on_resume(tally: Tally, unit: str | None, rollouts: int) -> OnResume:
    """What a resume does with the errors in `tally`."""
    again = owed_again(tally, unit, rollouts)
    left = (None, Step.CANCELLED)
    errored = [last.pair for last in tally.attempts() if last.step not in left]
    score = sum(again.get(pair) == rows.SCORED for pair in errored)
    ask = sum(pair in again for pair in errored) - score
    own = sum(again.get(each.pair) == rows.SCORED and each.own for each in tally.attempts())
    lacking = sum(each.lacking and each.pair not in again for each in tally.attempts())
    return OnResume(ask, score, len(errored) - ask - score, own, lacking)


def retried(tally: Tally, changes: Sequence[RunChange]) -> dict[RolloutKey, int]:
    """The rollouts that somebody has asked for again, by `changes`, and has not got; by attempt."""
    asked = {pair: each.attempt for each in changes for pair in each.rollouts if each.attempt}
    lasts = {pair: tally.find(pair) for pair in asked}
    return {pair: n for pair, n in asked.items() if (last := lasts[pair]) and last.number < n}


def next_attempts(tally: Tally, again: Collection[RolloutKey]) -> dict[RolloutKey, int]:
    """The next attempt numbers of the rollouts to run `again`."""
    return {last.pair: last.number + 1 for last in tally.attempts() if last.pair in again}


def settled(
    tally: Tally, unit: str | None, rollouts: int, since: dict[RolloutKey, int]
) -> list[RolloutKey]:
    """What this session need not run: it has an attempt numbered from `since`, else 1, on."""

    def is_settled(last: Attempt) -> bool:
        return last.number >= since.get(last.pair, 1)

    if unit != GROUP:
        return [last.pair for last in tally.attempts() if is_settled(last)]
    return [
        last.pair
        for group in _groups(tally)
        if _is_whole(group, rollouts) and all(map(is_settled, group))
        for last in group
    ]
