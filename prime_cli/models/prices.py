"""Tokens that model calls used, what they cost, and the budgets that cap them.

Money is counted in whole picodollars (10^-12 USD): a table's smallest step, 0.000001 USD per
million tokens, is one picodollar a token, so sums are exact in whatever order calls end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from prime_cli.core.formatting import format_cap, format_usd


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one or more calls, as the endpoint reported them.

    `input` holds `cached`, and `output` holds `reasoning`, as in OpenAI's usage object.
    `uncounted` calls reported nothing; `estimated` ones were counted in words by a built-in model.
    `hits` were answered from the cache of responses: they are no calls, and used nothing.
    """

    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    uncounted: int = 0
    estimated: int = 0
    hits: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.calls + other.calls,
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.uncounted + other.uncounted,
            self.estimated + other.estimated,
            self.hits + other.hits,
        )

    def __sub__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.calls - other.calls,
            self.input - other.input,
            self.cached - other.cached,
            self.output - other.output,
            self.reasoning - other.reasoning,
            self.uncounted - other.uncounted,
            self.estimated - other.estimated,
            self.hits - other.hits,
        )


PICO = 10**12
_PER_TOKEN = PICO // 10**6
"""Picodollars per token for each dollar per million tokens."""


@dataclass(frozen=True)
class Price:
    """USD per million tokens; `source` says where it is written.

    Input tokens from the endpoint's cache cost `cached`, or `input` if that is unknown; reasoning
    tokens are a part of the output and cost the same.
    """

    input: float
    output: float
    cached: float | None = None
    source: str = ""

    def cost(self, usage: TokenUsage) -> int:
        """Picodollars for the tokens of `usage`."""
        cached = min(usage.cached, usage.input)
        cached_price = self.input if self.cached is None else self.cached
        return (
            (usage.input - cached) * _per_token(self.input)
            + cached * _per_token(cached_price)
            + usage.output * _per_token(self.output)
        )


FREE = Price(0.0, 0.0, 0.0, "built in")


def _per_token(price: float) -> int:
    return round(price * _PER_TOKEN)


_NOTHING = TokenUsage()


class ChargeKey(NamedTuple):
    """What a call was made for: the role that the model played, and the model's name."""

    role: str
    model: str


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens of some calls and their cost; `unpriced` calls have no known price."""

    usage: TokenUsage = _NOTHING
    picodollars: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, usage: TokenUsage, price: Price | None) -> "Spend":
        """One call's spend; uncounted calls have no known price either."""
        if price is FREE:
            return cls(usage)
        if price is None:
            return cls(usage, 0, usage.calls)
        return cls(usage, price.cost(usage), usage.uncounted)

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            self.usage + other.usage,
            self.picodollars + other.picodollars,
            self.unpriced + other.unpriced,
        )

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(
            self.usage - other.usage,
            self.picodollars - other.picodollars,
            self.unpriced - other.unpriced,
        )

    @property
    def usd(self) -> float | None:
        """The total cost in USD; None if part of it is unknown."""
        return None if self.unpriced else self.known_usd

    @property
    def known_usd(self) -> float:
        """The cost in USD of the calls whose price is known."""
        return self.picodollars / PICO


Charges = dict[ChargeKey, Spend]
"""What was spent, by role and model."""


def add_charges(into: Charges, more: Charges) -> None:
    """Add `more` to `into`."""
    for payer, spend in more.items():
        known = into.get(payer)
        into[payer] = spend if known is None else known + spend


CAPS = ("The token budget", "The cap of")
"""How the reason of a budget begins that is used up."""


class Budget:
    """What may be spent, and what was; gateways of one process can share it.

    `reason` says why calls have stopped, None while they may go on. Listeners of `on_stop` are
    called once, in the thread in which the last call was counted.
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

    @property
    def is_used_up(self) -> bool:
        """Whether calls have to wait for more, as under a lease; a cap of one machine ends them."""
        return False

    async def wait(self, pair: tuple[int, int] | None) -> None:
        """Return once there is more for a call of the rollout `pair`, or calls have stopped."""

    def count(self, spend: Spend) -> None:
        """Add to the spend; ends the budget if a cap is reached."""
        with self._lock:
            self._spent += spend
        reached = self._reached()
        if reached:
            self.stop(reached)

    def stop(self, reason: str) -> None:
        """Stop calls, because of `reason`; the first reason stands."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def limit(self, max_cost: float) -> None:
        """Change the cap in USD, which must be above what was spent."""
        with self._lock:
            self.max_cost = max_cost

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Call `listener` when calls stop; at once if they have."""
        with self._lock:
            if self.reason is None:
                self._listeners.append(listener)
                return
        listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`; does nothing if it was already called."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def _reached(self) -> str | None:
        tokens = self._spent.usage.input + self._spent.usage.output
        if self.token_budget is not None and tokens >= self.token_budget:
            return f"The token budget of {self.token_budget:,} is used up"
        if self.max_cost is not None and self._spent.picodollars >= self.max_cost * PICO:
            return f"The cap of {format_cap(self.max_cost)} is reached"
        return None


def format_cost(spend: Spend) -> str:
    """A readable cost: `$0.42`, `at least $0.42` if part is unknown, `unknown`."""
    if not spend.unpriced:
        return format_usd(spend.known_usd)
    return f"at least {format_usd(spend.known_usd)}" if spend.picodollars else "unknown"
