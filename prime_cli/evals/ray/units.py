"""Which rollouts wait for a worker, and what becomes of those whose worker is lost."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from prime_cli.runs.rows import WORKER_DIED
from prime_cli.runs.tally import RolloutKey
from prime_cli.runtime.protocol import Event, Rollout, RolloutError

DEATHS_OF_A_UNIT = 3
"""A unit that was in flight at so many ends of workers, the last time alone, has caused them."""

UnitKeys = list[RolloutKey]


@dataclass
class NodeWorker:
    """A worker on a node, and the units that it was sent, in order, with the time of that.

    It runs `concurrency` rollouts at a time. With `is_alone` it runs a unit that is suspected of
    ending workers, and nothing else meanwhile. `needs_grant` is whether its calls wait for one.
    """

    host: str = ""
    concurrency: int = 1
    is_ready: bool = False
    has_ended: bool = False
    is_finishing: bool = False
    needs_grant: bool = False
    is_alone: bool = False
    held: set[RolloutKey] = field(default_factory=set)
    in_flight: int = 0
    units: dict[RolloutKey, tuple[UnitKeys, float]] = field(default_factory=dict)

    @property
    def has_room(self) -> bool:
        """Whether it can take one more unit: as many as keep it busy, and a few that wait there."""
        most = self.concurrency + self.concurrency // 4 + 1
        is_open = self.is_ready and not self.is_finishing and not self.is_alone
        return is_open and self.rollouts < most

    @property
    def rollouts(self) -> int:
        """The unfinished rollouts that it has."""
        return sum(len(unit) for unit, _ in self.units.values())


@dataclass
class Losses:
    """Counts workers that were lost `in_a_row`; all that a lost node had are one loss."""

    in_a_row: int = 0
    _newest: dict[str, int] = field(default_factory=dict)

    def count(self, number: int, host: str, *, newest: int) -> None:
        """The worker `number` is lost, at `host` if that is known; `newest` was started last."""
        if host and number <= self._newest.get(host, 0):
            return  # it was there when the first one of them was lost
        self.in_a_row += 1
        self._newest[host] = newest


class Units:
    """What is still to be run: `waiting`, then `aside`, each of these alone.

    `again` gets why rollouts are run once more.
    """

    def __init__(self, attempts: Mapping[RolloutKey, int], again: dict[RolloutKey, str]) -> None:
        self.waiting: deque[UnitKeys] = deque()
        self.aside: deque[UnitKeys] = deque()
        self._attempts = attempts
        self._again = again
        self._deaths: dict[RolloutKey, int] = {}

    def attempt(self, unit: UnitKeys) -> int:
        """The number of the attempt at `unit` in this session."""
        return max(self._attempts.get(pair, 1) for pair in unit)

    def requeue(self, worker: NodeWorker, why: str) -> list[Event]:
        """Have others run what a worker had; returns the rollouts that ended too many.

        A unit that was in flight for the second time runs alone, in the end.
        """
        dead: list[Event] = []
        again: list[UnitKeys] = []
        begun = 0
        for first, (unit, _) in worker.units.items():
            if begun >= worker.concurrency:
                again.append(unit)  # it waited there
                continue
            begun += len(unit)
            self._again.update(dict.fromkeys(unit, WORKER_DIED))
            deaths = self._deaths[first] = self._deaths.get(first, 0) + 1
            if deaths >= DEATHS_OF_A_UNIT:
                dead += [self._dead(pair, why) for pair in unit]
            elif deaths == DEATHS_OF_A_UNIT - 1:
                self.aside.append(unit)
            else:
                again.append(unit)
        self.waiting.extendleft(reversed(again))
        return dead

    def _dead(self, pair: RolloutKey, why: str) -> Rollout:
        return Rollout(
            example_id=pair[0],
            rollout=pair[1],
            attempt=self._attempts.get(pair, 1),
            error=RolloutError(kind="environment", type="WorkerDied", message=why),
        )
