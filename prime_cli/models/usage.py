"""Tokens that model calls used."""

from dataclasses import dataclass


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
