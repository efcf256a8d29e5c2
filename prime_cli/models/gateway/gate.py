"""Where calls stop when a budget is used up."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import urlsplit

from prime_cli.models.budget import Budget
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply
from prime_cli.models.gateway.ledger import COUNTED, PriceOf
from prime_cli.models.gateway.routing import Send

_HARMLESS = ("GET", "HEAD", "OPTIONS")


class Gate:
    """The last step before an endpoint: calls pass as long as there is budget for them.

    Later ones are held, and never answered: an environment that saw them refused could take that
    for an answer and score it. Whoever runs the environment ends it once `in_flight` calls have
    come back. `held` are the rollouts that wait; `tainted` says that a call which belongs to none
    of them was given up by its caller, so that no later score can be trusted.
    """

    def __init__(self, budget: Budget, price_of: PriceOf) -> None:
        self.budget = budget
        self.in_flight = 0
        self.held: set[tuple[int, int]] = set()
        self.tainted = False
        self._price_of = price_of

    async def admit(self, call: Call, handler: Handler) -> Reply:
        """The step: hold a call for which there is no budget, or that cannot be counted."""
        if call.method not in _HARMLESS and call.path not in COUNTED:
            self.budget.stop(f"A call to {call.path} cannot be counted, and this run has a cap")
        if self.budget.reason is None:
            try:
                return await handler(call)
            except _Stopped:
                pass
        return await self._hold(call)

    def guard(self, send: Send) -> Send:
        """`send` behind the gate, for where a call has its turn and its endpoint is chosen."""

        async def guarded(endpoint: Endpoint, call: Call) -> Reply:
            if self.budget.needs_prices and self._price_of(endpoint) is None:
                self.budget.stop(unpriced(endpoint))
            if self.budget.reason is not None:
                raise _Stopped
            self.in_flight += 1
            try:
                reply = await send(endpoint, call)
            except BaseException:
                self.in_flight -= 1
                raise
            if reply.chunks is None:
                self.in_flight -= 1
            else:
                reply.chunks = self._until_end(reply.chunks)
            return reply

        return guarded

    async def _until_end(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            self.in_flight -= 1

    async def _hold(self, call: Call) -> Reply:
        example, rollout = call.identity.example, call.identity.rollout
        if example is not None and rollout is not None:
            self.held.add((example, rollout))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.tainted = self.tainted or example is None
            raise
        raise AssertionError("nobody sets that event")


class _Stopped(CallFailed):
    """A call had its turn when the budget was used up already."""

    def __init__(self) -> None:
        super().__init__("The budget is used up", status=402, blame="infra", code="capped")


def unpriced(endpoint: Endpoint) -> str:
    """Why a model without a price cannot be called under a cap in USD."""
    where = urlsplit(endpoint.url).netloc
    return f"`{endpoint.model}` at {where} has no known price, so its cost cannot be capped"
