"""What workers on nodes spend, counted by the run's own gateway, and what they may."""

import asyncio
from collections.abc import Callable, Mapping

from prime_cli.evals.ray.leases import Leases
from prime_cli.evals.ray.units import Seat
from prime_cli.evals.ray.wire import Grant, Problem, Refused, Spent, Stopped
from prime_cli.models.gateway.calls import CallIdentity
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.spending import read_charges


class Accounts:
    """Counts for `gateway`, which makes no call itself; `seats` hear their Grants, and the end.

    So ledger, budget and hold say of all nodes what they say of one machine.
    """

    def __init__(
        self,
        gateway: Gateway,
        seats: Mapping[int, Seat],
        workers: int,
        tell: Callable[[int, Grant | Stopped | Refused], None],
    ) -> None:
        self._ledger, self._hold = gateway.ledger, gateway.hold
        self._seats = seats
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        gateway.hold.on_close(self._on_close)
        budget = gateway.hold.budget
        self._leases = None if budget is None else Leases(budget, workers)

    def close(self) -> None:
        """Listen no more to the hold."""
        self._hold.forget(self._on_close)

    def _on_close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop_calls)

    def _stop_calls(self) -> None:
        for number, seat in self._seats.items():
            if seat.is_ready and not seat.has_ended:
                self._tell(number, self._why_closed())

    def _why_closed(self) -> Stopped | Refused:
        if self._hold.failure is not None:
            return Refused(Problem.of(self._hold.failure))
        return Stopped(self._hold.capped or "")

    def open(self, number: int) -> None:
        """A worker begins."""
        if self._leases is not None:
            self._leases.open(number)

    def lose(self, number: int) -> None:
        """A worker is gone."""
        self._hold.in_flight = sum(each.in_flight for each in self._seats.values())
        if self._leases is not None:
            self._leases.lose(number)

    def count(self, number: int, spent: Spent) -> None:
        """A worker has reported what it spent."""
        seat = self._seats[number]
        for used in spent.used:
            for payer, spend in read_charges(used.charges).items():
                identity = CallIdentity(used.example, used.rollout, 1, payer.role)
                self._ledger.add(identity, payer.model, spend)
                if self._leases is not None:
                    self._leases.count(number, spend)
        for role, requested, model, system, count in spent.served:
            self._ledger.served[ServedBy(role, requested, model, system)] += count
        seat.held, seat.in_flight = set(spent.held), spent.in_flight
        self._hold.in_flight = sum(each.in_flight for each in self._seats.values())
        if self._hold.is_closed:
            # What was refused a call is dropped, and not waited for.
            self._hold.held.clear()
            self._hold.held.update(*(each.held for each in self._seats.values()))
        elif seat.held:
            self.grant(number)

    def grant(self, number: int) -> None:
        """Let a worker spend more, if there is more; tell it if calls have stopped."""
        if self._hold.is_closed:
            self._tell(number, self._why_closed())
            return
        if self._leases is None:
            return
        grant = self._leases.grant(number)
        self._seats[number].waits = grant is None
        if grant is not None:
            self._tell(number, grant)
            return
        dry, budget = self._leases.is_dry(), self._hold.budget
        if dry is not None and budget is not None:
            budget.stop(dry)

    def take_back(self, number: int) -> None:
        """A worker has nothing to do: what it may spend goes to those that wait."""
        if self._leases is None:
            return
        self._leases.take_back(number)
        self._tell(number, self._leases.current(number))
        for other, seat in self._seats.items():
            if seat.waits:
                self.grant(other)
