"""How a gateway treats the calls of its run."""

from dataclasses import dataclass, field

from prime_cli.models.gateway.retries import RetryPolicy

CALL_SECONDS = 1800.0
"""The default deadline of one call; reasoning models do answer after many minutes."""


@dataclass(frozen=True)
class GatewaySettings:
    """Nothing here can change what a model answers; `call_seconds` holds for all tries together."""

    call_seconds: float = CALL_SECONDS
    retries: RetryPolicy = field(default_factory=RetryPolicy)
