"""Models behind the hub: OpenAI's API, answered by endpoints whose keys only the hub has.

Calls take the steps of a run's gateway: a deadline and the endpoint's own limits, retries, and a
count of what was used.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from prime_cli.models.endpoints import Endpoint, endpoint_of
from prime_cli.models.gateway.calls import Call, CallFailed, Reply, chain, with_fields
from prime_cli.models.gateway.ledger import Ledger
from prime_cli.models.gateway.limits.endpoint_limits import EndpointLimits
from prime_cli.models.gateway.retries import Retries, RetryPolicy
from prime_cli.models.gateway.streams import ask_for_usage
from prime_cli.models.gateway.upstream import EndpointPool, RoundRobin
from prime_cli.models.price_book import PriceBook
from prime_cli.models.prices import Spend
from prime_cli.models.registry import Registry
from prime_cli.wire.inference import ModelItem, ModelList, ModelPricing

PATHS = ("chat/completions", "completions", "embeddings")
"""What is passed on, below the API."""

_CALL_SECONDS = 1800.0
_IDLE_SECONDS = 300.0
# A client retries too; a hub that waited for minutes would only hide why.
_POLICY = RetryPolicy(
    rate_limited=3, overloaded=3, connection=2, server_error=2, too_late=0, patience_s=30.0
)


class Inference:
    """The models of a registry. Calls are made within `open`, in one event loop.

    `on_spend` is told what each call used, by the alias of the model.
    """

    def __init__(
        self, registry: Registry, prices: PriceBook, *, environ: Mapping[str, str] | None = None
    ) -> None:
        environ = os.environ if environ is None else environ
        self._prices = prices
        # An entry without its key is found before anybody calls it.
        self._groups = {
            alias: RoundRobin(endpoint_of(registry.find(alias), alias, environ).group)
            for alias in registry.aliases
        }
        self._pool = EndpointPool()
        self.on_spend: Callable[[str, Spend], None] = lambda _model, _spend: None
        self._limits = EndpointLimits(
            self._pool.send, folder=None, call_seconds=_CALL_SECONDS, idle_seconds=_IDLE_SECONDS
        )
        self._retries = Retries(_POLICY)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Keep connections to the endpoints for the block."""
        async with self._pool:
            try:
                yield
            finally:
                self._limits.close()

    def models(self) -> ModelList:
        """Every alias, which is what calls name."""
        return ModelList([self._item(alias) for alias in self._groups])

    def model(self, name: str) -> ModelItem | None:
        """One of them, or None."""
        return self._item(name) if name in self._groups else None

    def new_ledger(self) -> Ledger:
        """What counts the use of one call; complete once the chunks of its reply have been read."""
        return Ledger(price_of=self._prices.price_of)

    async def answer(self, call: Call, ledger: Ledger) -> Reply:
        """The reply of the endpoint, whatever its status; raises CallFailed if there is none."""
        steps = (ask_for_usage, self._retries, ledger.read_answers)
        return await chain(steps, self._send)(call)

    async def _send(self, call: Call) -> Reply:
        endpoint = self._choose(call.head.model or "")
        if call.head.model != endpoint.model:
            call = replace(call, body=with_fields(call.body, model=endpoint.model))
        reply = await self._limits.send(endpoint, call)
        reply.endpoint = endpoint
        return reply

    def _choose(self, name: str) -> Endpoint:
        found = self._groups.get(name)
        if found is None:
            known = ", ".join(self._groups)
            raise CallFailed(
                f"This hub does not serve `{name[:200]}`; it serves {known or 'no models'}",
                status=404,
                blame="environment",
                code="model_not_found",
            )
        return found.take(self._limits.is_free)

    def _item(self, alias: str) -> ModelItem:
        price = self._prices.price_of(self._groups[alias].group[0])
        pricing = None if price is None else ModelPricing(price.input, price.output)
        return ModelItem(alias, pricing=pricing)
