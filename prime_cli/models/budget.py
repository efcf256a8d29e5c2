"""The caps of a run, or of several that share them: USD, and tokens."""

import math
from collections.abc import Callable
from threading import Lock

from prime_cli.models.prices import PICO, Spend


class Budget:
    """What may be spent, and what was; gateways of one process can share it.

    `reason` says why there are no more calls, None while there may be. Whoever is called back by
    `on_stop` is so once, in the thread in which the last call was counted.
    """

    def __init__(
        self,
        max_cost: float | None = None,
        token_budget: int | None = None,
        spent: Spend | None = None,
    ) -> None:
        self.max_cost = max_cost
        self.token_budget = token_budget
        self.reason: str | None = None
        self._spent = Spend()
        self._lock = Lock()
        self._listeners: list[Callable[[], None]] = []
        if spent is not None:
            self.count(spent)

    @property
    def spent(self) -> Spend:
        """All that was counted."""
        return self._spent

    @property
    def needs_prices(self) -> bool:
        """Whether a model without a known price cannot be called."""
        return self.max_cost is not None

    def count(self, spend: Spend) -> None:
        """Add to what was spent; ends the budget where a cap is reached."""
        with self._lock:
            self._spent += spend
        reached = self._reached()
        if reached:
            self.stop(reached)

    def stop(self, reason: str) -> None:
        """No more calls, because of `reason`; the first reason stands."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Call `listener` when no more calls may be made; at once when that is so."""
        with self._lock:
            if self.reason is None:
                self._listeners.append(listener)
                return
        listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Call `listener` no more; does nothing where it was called already."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def _reached(self) -> str | None:
        tokens = self._spent.usage.input + self._spent.usage.output
        if self.token_budget is not None and tokens >= self.token_budget:
            return f"The token budget of {self.token_budget:,} is used up"
        if self.max_cost is not None and self._spent.picodollars >= self.max_cost * PICO:
            return f"The cap of {format_usd(self.max_cost)} is reached"
        return None


def format_usd(amount: float) -> str:
    """An amount in USD with two decimals, or more where two significant digits need them."""
    zeros = -math.floor(math.log10(amount)) if amount > 0 else 0
    return f"${amount:,.{max(2, zeros + 1)}f}"


def format_cost(spend: Spend) -> str:
    """What a person reads: `$0.42`, `at least $0.42` where a part is not known, `unknown`."""
    if not spend.unpriced:
        return format_usd(spend.known_usd)
    return f"at least {format_usd(spend.known_usd)}" if spend.picodollars else "unknown"
