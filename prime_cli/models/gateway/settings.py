"""How a gateway treats the calls of its run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, Step
from prime_cli.models.gateway.completion_cache import CompletionStore
from prime_cli.models.gateway.ledger import PriceOf, price_builtin
from prime_cli.models.gateway.retries import RetryPolicy
from prime_cli.models.prices import Budget

if TYPE_CHECKING:
    from aiohttp import web

CALL_SECONDS = 1800
"""The default deadline of one attempt; reasoning models may take many minutes."""

IDLE_SECONDS = 300
"""How long a started stream may stall."""


class HubRelay(Protocol):
    """What answers below `/hub`, beside the models."""

    async def answer(
        self, request: "web.BaseRequest", check: Callable[[Mapping[str, str]], None]
    ) -> "web.StreamResponse":
        """Answer a request; `check` raises CallFailed for headers without the run's token."""

    async def end_sandboxes(self) -> None:
        """End those of a worker that died, or of a run that has ended."""


OpenRelay = Callable[[Callable[[str], None]], HubRelay]
"""Opens it with the first call; the argument says a sentence to the user."""


@dataclass(frozen=True)
class GatewaySettings:
    """How calls are treated; what a model answers is not changed, and with a `cache` kept.

    `call_seconds` and `idle_seconds` apply to each attempt at a call. `limits_folder` is where the
    processes of this machine share an endpoint's limits; None shares nothing. `price_of` tells what
    calls cost; there are no more of them when the `budget` is used up. With `sandboxed` only models
    are called, with keys that the run or a registry names alone. With `fail_fast` calls stop once
    the run's endpoint has refused the key. `also_accepted` are keys of the user's that open
    the gateway as its token does. A `tap` sees calls before all that answers them.
    `policy_of` names the endpoint for a call of the policy, None for that of the run. `hub` opens
    what answers calls of sandboxes; None refuses them. `others` answers for all other models.
    """

    call_seconds: float = CALL_SECONDS
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    idle_seconds: float = IDLE_SECONDS
    limits_folder: Path | None = None
    price_of: PriceOf = price_builtin
    budget: Budget | None = None
    cache: CompletionStore | None = None
    sandboxed: bool = False
    fail_fast: bool = False
    also_accepted: tuple[str, ...] = ()
    tap: Step | None = None
    policy_of: Callable[[Call], Endpoint | None] | None = None
    hub: OpenRelay | None = None
    others: Endpoint | None = None
