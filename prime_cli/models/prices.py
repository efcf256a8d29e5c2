"""Tokens that model calls used, what they cost, and what calls came to.

Money is counted in whole picodollars (10^-12 USD): a table's smallest step, 0.000001 USD per
million tokens, is one picodollar a token, so sums are exact in whatever order calls end.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Usage:
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

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.uncounted + other.uncounted,
            self.estimated + other.estimated,
            self.hits + other.hits,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
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

    Input tokens from the endpoint's cache cost `cached`, or `input` where that is not known;
    reasoning tokens are a part of the output and cost the same.
    """

    input: float
    output: float
    cached: float | None = None
    source: str = ""

    def cost(self, usage: Usage) -> int:
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


_NOTHING = Usage()


class ChargeKey(NamedTuple):
    """For what a call was made: the role that the model played, and the model's name."""

    role: str
    model: str


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens of some calls and their price; `unpriced` of the calls have none that is known."""

    usage: Usage = _NOTHING
    picodollars: int = 0
    unpriced: int = 0

    @classmethod
    def of(cls, usage: Usage, price: Price | None) -> "Spend":
        """One call's spend; what an endpoint did not count has no known price either."""
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
        """The whole cost in USD; None when a part of it is not known."""
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
