"""Hold calls back: when a budget is used up, a key is refused, or a run is abandoned."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from http import HTTPStatus
from urllib.parse import urlsplit

from prime_cli.core.errors import NotAllowed, NotLoggedIn, PrimeError
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply
from prime_cli.models.gateway.ledger import COUNTED, PriceOf
from prime_cli.models.gateway.upstream import Send
from prime_cli.models.prices import Budget

_FORBIDDEN_IN_A_ROW = 3
"""403 may be about one prompt (moderation); so many in a row, and no answer, are about the key."""

_REFUSED_IN_A_ROW = 10
"""A 401 after answers: an expired key, or one of several servers is broken."""

_LET_IN = (HTTPStatus.OK, HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


class KeyRefusals:
    """Counts refusals by the endpoints of a run's model; those of judges are ignored.

    `doubtful` from a first 401 or 403 on, as long as no call was answered: nothing more may be sent
    before `verdict`, which is called once everything in flight has returned.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._own = {id(member) for member in endpoint.group}
        self._answered = False
        self._row: list[int] = []
        self._from = endpoint

    @property
    def doubtful(self) -> bool:
        """Whether the key may be refused."""
        return bool(self._row) and (not self._answered or self._is_enough())

    def learn(self, endpoint: Endpoint, status: int) -> None:
        """Record the status of one answer."""
        if id(endpoint) not in self._own:
            return
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._from = endpoint
            self._row.append(status)
        elif status in _LET_IN:
            self._answered = True
            self._row.clear()

    def verdict(self) -> NotAllowed | None:
        """Why no call can succeed; None if the next one may."""
        return refusal(self._from, self._row[-1]) if self._is_enough() else None

    def _is_enough(self) -> bool:
        refused = self._row.count(HTTPStatus.UNAUTHORIZED)
        if self._answered:
            return refused >= _REFUSED_IN_A_ROW
        return refused > 0 or len(self._row) >= _FORBIDDEN_IN_A_ROW


def refusal(endpoint: Endpoint, status: int) -> NotAllowed | None:
    """The message for an endpoint that answers 401 or 403; None for another status."""
    where = urlsplit(endpoint.url).netloc
    if status == HTTPStatus.UNAUTHORIZED:
        return NotLoggedIn(
            f"{where} rejected the key for `{endpoint.model}`",
            hint=_key_hint(endpoint),
        )
    if status == HTTPStatus.FORBIDDEN:
        return NotAllowed(
            f"{where} does not allow this key to use its models",
            hint="check the account's permissions, or use another key with `-k VARIABLE`",
        )
    return None


def _key_hint(endpoint: Endpoint) -> str:
    if endpoint.key_var:
        return f"check the key in {endpoint.key_var}, or name another variable with `-k VARIABLE`"
    if endpoint.alias is not None:
        return "check the `key` of the endpoint registry"
    return "put the key into a variable, and name it with `-k VARIABLE`"


_HARMLESS = ("GET", "HEAD", "OPTIONS")


class CallHold:
    """The last step before an endpoint: calls pass until the budget ends or the gate is closed.

    Later ones are held, and never answered: an environment could take a refusal for an answer and
    score it. The runner ends the environment once `in_flight` calls have returned. `held` are the
    rollouts that wait; `tainted` says that a call which belongs to none of them was given up by its
    caller, so that no later score can be trusted. `failure` is why the gate was closed; with
    `refusals` it closes itself once those show that a key is refused.
    """

    def __init__(
        self, price_of: PriceOf, budget: Budget | None = None, refusals: KeyRefusals | None = None
    ) -> None:
        self.budget = budget
        self.in_flight = 0
        self.held: set[tuple[int, int]] = set()
        self.tainted = False
        self.failure: PrimeError | None = None
        self._price_of = price_of
        self._refusals = refusals
        self._settled = asyncio.Event()
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._listeners: list[Callable[[], None]] = []

    @property
    def capped(self) -> str | None:
        """The cap that was reached, if any."""
        return None if self.budget is None else self.budget.reason

    @property
    def is_closed(self) -> bool:
        """Whether there are no more calls."""
        return self.failure is not None or self.capped is not None

    def close(self, failure: PrimeError) -> None:
        """Stop all calls, because of `failure`; the first one stands."""
        if self.failure is not None:
            return
        self.failure = failure
        self._settled.set()
        for listener in self._listeners:
            listener()

    @property
    def is_paused(self) -> bool:
        """Whether calls wait until somebody resumes them; those in flight are answered."""
        return not self._resumed.is_set()

    def pause(self) -> None:
        """Hold calls until `resume`."""
        self._resumed.clear()

    def resume(self) -> None:
        """Let calls pass again."""
        self._resumed.set()

    async def until_resumed(self) -> None:
        """Wait for the end of a pause; returns at once where there is none."""
        await self._resumed.wait()

    def adopt(self, budget: Budget) -> None:
        """Keep to `budget`, where there was none."""
        self.budget = budget
        for listener in self._listeners:
            budget.on_stop(listener)

    def on_close(self, listener: Callable[[], None]) -> None:
        """Call `listener` when calls stop, in whatever thread that happens."""
        self._listeners.append(listener)
        if self.budget is not None:
            self.budget.on_stop(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`."""
        self._listeners.remove(listener)
        if self.budget is not None:
            self.budget.forget(listener)

    async def admit(self, call: Call, handler: Handler) -> Reply:
        """The step: hold calls that lack a budget or cannot be counted."""
        is_counted = call.method in _HARMLESS or call.path in COUNTED
        if self.budget is not None and not is_counted:
            self.budget.stop(f"A call to {call.path} cannot be counted, and this run has a cap")
        while not self.is_closed:
            if self.is_paused:
                await self.until_resumed()
                continue
            if self.budget is not None and self._must_wait():
                await self.budget.wait(call.identity.pair)
                continue
            try:
                return await handler(call)
            except _Paused:
                continue
            except _Stopped:
                pass
            if not self.is_closed:
                await self._settled.wait()
        return await self._hold(call)

    def guard(self, send: Send) -> Send:
        """`send` behind the gate, for where a call has its turn and its endpoint is chosen."""

        async def guarded(endpoint: Endpoint, call: Call) -> Reply:
            self._require_price(endpoint)
            if self.is_closed or self._is_in_doubt():
                raise _Stopped
            if self.is_paused or self._must_wait():
                raise _Paused
            self.in_flight += 1
            try:
                reply = await send(endpoint, call)
            except BaseException:
                self._come_back()
                raise
            if self._refusals is not None and call.path in COUNTED:
                self._refusals.learn(endpoint, reply.status)
            if reply.chunks is None:
                self._come_back()
            else:
                reply.chunks = self._until_end(reply.chunks)
            return reply

        return guarded

    def _require_price(self, endpoint: Endpoint) -> None:
        budget = self.budget
        if budget is not None and budget.needs_prices and self._price_of(endpoint) is None:
            budget.stop(unpriced(endpoint))

    def _must_wait(self) -> bool:
        return self.budget is not None and self.budget.is_used_up

    def _is_in_doubt(self) -> bool:
        """Whether a key may be refused, which the calls in flight will show."""
        doubtful = self._refusals is not None and self._refusals.doubtful and self.in_flight > 0
        if doubtful:
            self._settled.clear()
        return doubtful

    def _come_back(self) -> None:
        self.in_flight -= 1
        refusals = self._refusals
        if refusals is None:
            return
        if refusals.doubtful and not self.in_flight:
            failure = refusals.verdict()
            if failure is not None:
                self.close(failure)
        if not self.in_flight or not refusals.doubtful:
            self._settled.set()

    async def _until_end(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            self._come_back()

    async def _hold(self, call: Call) -> Reply:
        pair = call.identity.pair
        if pair is not None:
            self.held.add(pair)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.tainted = self.tainted or pair is None
            raise
        raise AssertionError("nobody sets that event")


class _Stopped(CallFailed):
    """A call's turn came when calls had stopped, or were paused."""

    def __init__(self) -> None:
        super().__init__("No more calls are sent", status=402, blame="infra", code="stopped")


class _Paused(_Stopped):
    """A call's turn came in a pause, or when there was nothing left to spend for now."""


def unpriced(endpoint: Endpoint) -> str:
    """Why a model without a price cannot be called under a cap in USD."""
    where = urlsplit(endpoint.url).netloc
    return f"`{endpoint.model}` at {where} has no known price, so its cost cannot be capped"
