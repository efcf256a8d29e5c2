"""What workers on nodes spend, counted by the run's own gateway, and what they may."""

import asyncio
from collections.abc import Callable, Mapping

from prime_cli.evals.ray.leases import Leases
from prime_cli.evals.ray.messages import CallsStopped, Grant, Problem, SpendReport
from prime_cli.evals.ray.unit_queue import NodeWorker
from prime_cli.models.gateway.calls import CallIdentity
from prime_cli.models.gateway.holds import CallHold
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.spending import read_charges


class Accounts:
    """Counts for `gateway`, which makes no call itself; `send` reaches one of `workers`.

    So ledger, budget and hold say of all nodes what they say of one machine.
    """

    def __init__(
        self,
        gateway: Gateway,
        workers: Mapping[int, NodeWorker],
        count: int,
        send: Callable[[int, Grant | CallsStopped], None],
    ) -> None:
        self._ledger, self._hold = gateway.ledger, gateway.hold
        self._workers = workers
        self._send = send
        self._loop = asyncio.get_running_loop()
        gateway.hold.on_close(self._on_close)
        budget = gateway.hold.budget
        self._leases = None if budget is None else Leases(budget, count)

    def close(self) -> None:
        """Listen no more to the hold."""
        self._hold.forget(self._on_close)

    def _on_close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop_calls)

    def _stop_calls(self) -> None:
        for number, worker in self._workers.items():
            if worker.is_open:
                self._send(number, why_stopped(self._hold))
        self.sum_up()

    def stop(self, number: int, stopped: CallsStopped) -> None:
        """A worker makes no more calls: nor may the others."""
        self._workers[number].has_stopped = True
        self.sum_up()
        if stopped.problem is not None:
            self._hold.close(stopped.problem.error())
        elif self._hold.budget is not None:
            self._hold.budget.stop(stopped.reason)

    def count(self, number: int, spent: SpendReport) -> None:
        """A worker has reported what it spent."""
        for used in spent.used:
            for payer, spend in read_charges(used.charges).items():
                identity = CallIdentity(used.example, used.rollout, 1, payer.role)
                self._ledger.add(identity, payer.model, spend)
                if self._leases is not None:
                    self._leases.count(number, spend)
        for role, requested, model, system, count in spent.served:
            self._ledger.served[ServedBy(role, requested, model, system)] += count
        worker = self._workers[number]
        worker.held, worker.in_flight = set(spent.held), spent.in_flight
        self.sum_up()
        if worker.held and not self._hold.is_closed:
            self.grant(number)

    def sum_up(self) -> None:
        """Have the hold say how many calls are in flight, and which rollouts wait for one."""
        workers = self._workers.values()
        self._hold.in_flight = sum(each.in_flight for each in workers)
        if self._hold.is_closed:
            # Until a worker has answered that it stopped, it may have begun calls.
            self._hold.in_flight += sum(each.is_open and not each.has_stopped for each in workers)
            # What was refused a call is dropped, and not waited for.
            self._hold.held.clear()
            self._hold.held.update(*(each.held for each in workers))

    def grant(self, number: int) -> None:
        """Let a worker spend more, if there is more; say so to it if calls have stopped."""
        if self._hold.is_closed:
            self._send(number, why_stopped(self._hold))
        elif self._leases is not None and self._hold.budget is not None:
            if (grant := self._leases.grant(number)) is not None:
                self._send(number, grant)
            elif (dry := self._leases.why_dry()) is not None:
                self._hold.budget.stop(dry)

    def take_back(self, number: int) -> None:
        """A worker has nothing to do: what it may spend goes to those that wait."""
        if self._leases is not None and (grant := self._leases.take_back(number)) is not None:
            self._send(number, grant)

    def lose(self, number: int) -> None:
        """A worker is gone, and no more among `workers`."""
        self.sum_up()
        if self._leases is not None:
            self._leases.lose(number)


def why_stopped(hold: CallHold) -> CallsStopped:
    """Why a closed `hold` lets no more calls through."""
    problem = None if hold.failure is None else Problem.of(hold.failure)
    return CallsStopped(hold.capped or "", problem)
