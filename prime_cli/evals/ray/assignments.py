"""Which worker runs which rollouts: each has a few at a time, and those of a lost one move on."""

from collections.abc import Callable, Iterable

from prime_cli.evals.ray.units import Losses, NodeWorker, UnitKeys, Units
from prime_cli.runs.tally import RolloutKey
from prime_cli.runtime.protocol import Event, Rollout, RunRollouts


class Assignments:
    """Gives `units` to `workers` by their numbers; `run` sends one.

    `losses` counts the workers that were lost since the last finished rollout.
    """

    def __init__(
        self,
        workers: dict[int, NodeWorker],
        units: Units,
        run: Callable[[int, RunRollouts], None],
        now: Callable[[], float],
    ) -> None:
        self.losses = Losses()
        self._workers = workers
        self._units = units
        self._run = run
        self._now = now
        self._finished: dict[RolloutKey, set[RolloutKey]] = {}

    def add(self, units: Iterable[UnitKeys]) -> int:
        """Have `units` wait for a worker; returns how many rollouts wait."""
        self._units.waiting.extend(units)
        return sum(map(len, self._units.waiting))

    @property
    def are_done(self) -> bool:
        """Whether no rollout waits or is with a worker."""
        if self._units.waiting or self._units.aside:
            return False
        return not any(each.units for each in self._workers.values() if not each.has_ended)

    def refill(self, number: int) -> None:
        """Give a worker what it has room for."""
        worker = self._workers[number]
        if not worker.is_ready or worker.is_finishing:
            return
        worker.is_alone = worker.is_alone and bool(worker.units)
        while self._units.waiting and worker.has_room:
            self._assign(number, self._units.waiting.popleft())
        if self._units.aside and not self._units.waiting and not worker.units:
            worker.is_alone = True
            self._assign(number, self._units.aside.popleft())

    def share(self) -> None:
        """Give what waits to the workers that have the least to do."""
        while self._units.waiting:
            free = [(w.rollouts, number) for number, w in self._workers.items() if w.has_room]
            if not free:
                break
            self._assign(min(free)[1], self._units.waiting.popleft())
        for number in self._workers:
            self.refill(number)

    def settle(self, worker: NodeWorker, event: Rollout) -> bool:
        """Take a finished rollout off `worker`; False if it was not one of its."""
        pair = event.example_id, event.rollout
        first = next((key for key, (unit, _) in worker.units.items() if pair in unit), None)
        if first is None:
            return False
        done = self._finished.setdefault(first, set())
        done.add(pair)
        if len(done) == len(worker.units[first][0]):
            del worker.units[first], self._finished[first]
        self.losses = Losses()
        return True

    def requeue(self, worker: NodeWorker, why: str) -> list[Event]:
        """Have others run what a lost worker had; returns the rollouts that ended too many."""
        for first in worker.units:
            self._finished.pop(first, None)
        return self._units.requeue(worker, why)

    def overdue(self, seconds: float) -> list[int]:
        """The workers with a unit for longer than `seconds`."""
        now = self._now()
        return [
            number
            for number, worker in self._workers.items()
            if any(now - since > seconds for _, since in worker.units.values())
        ]

    def _assign(self, number: int, unit: UnitKeys) -> None:
        self._workers[number].units[unit[0]] = unit, self._now()
        rollouts = [rollout for _, rollout in unit]
        self._run(number, RunRollouts(unit[0][0], rollouts, self._units.attempt(unit)))
