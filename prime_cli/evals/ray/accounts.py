"""What workers on nodes spend, counted by the run's own gateway, and what they may."""

import asyncio
from collections.abc import Callable, Mapping

from prime_cli.evals.ray.leases import Leases
from prime_cli.evals.ray.messages import CallsRefused, CallsStopped, Grant, Problem, SpendReport
from prime_cli.evals.ray.units import NodeWorker
from prime_cli.models.gateway.calls import CallIdentity
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
        send: Callable[[int, Grant | CallsStopped | CallsRefused], None],
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
            if worker.is_ready and not worker.has_ended:
                self._send(number, self._why_closed())

    def _why_closed(self) -> CallsStopped | CallsRefused:
        if self._hold.failure is not None:
            return CallsRefused(Problem.of(self._hold.failure))
        return CallsStopped(self._hold.capped or "")

    def open(self, number: int) -> None:
        """A worker begins."""
        if self._leases is not None:
            self._leases.open(number)

    def lose(self, number: int) -> None:
        """A worker is gone."""
        self._hold.in_flight = sum(each.in_flight for each in self._workers.values())
        if self._leases is not None:
            self._leases.lose(number)

    def count(self, number: int, spent: SpendReport) -> None:
        """A worker has reported what it spent."""
        worker = self._workers[number]
        for used in spent.used:
            for payer, spend in read_charges(used.charges).items():
                identity = CallIdentity(used.example, used.rollout, 1, payer.role)
                self._ledger.add(identity, payer.model, spend)
                if self._leases is not None:
                    self._leases.count(number, spend)
        for role, requested, model, system, count in spent.served:
            self._ledger.served[ServedBy(role, requested, model, system)] += count
        worker.held, worker.in_flight = set(spent.held), spent.in_flight
        self._hold.in_flight = sum(each.in_flight for each in self._workers.values())
        if self._hold.is_closed:
            # What was refused a call is dropped, and not waited for.
            self._hold.held.clear()
            self._hold.held.update(*(each.held for each in self._workers.values()))
        elif worker.held:
            self.grant(number)

    def grant(self, number: int) -> None:
        """Let a worker spend more, if there is more; say so to it if calls have stopped."""
        if self._hold.is_closed:
            self._send(number, self._why_closed())
            return
        if self._leases is None:
            return
        grant = self._leases.grant(number)
        self._workers[number].needs_grant = grant is None
        if grant is not None:
            self._send(number, grant)
            return
        dry, budget = self._leases.is_dry(), self._hold.budget
        if dry is not None and budget is not None:
            budget.stop(dry)

    def take_back(self, number: int) -> None:
        """A worker has nothing to do: what it may spend goes to those that wait."""
        if self._leases is None:
            return
        self._leases.take_back(number)
        self._send(number, self._leases.current(number))
        for other, worker in self._workers.items():
            if worker.needs_grant:
                self.grant(other)
