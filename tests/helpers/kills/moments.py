"""When to kill: a while after one of a client's requests has gone out."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

_BEYOND = 1.2
"""Moments are chosen up to this multiple of what was measured: the next time may be slower."""

_WORDS = frozenset(
    "capabilities evaluations finalize resolve samples upload versions wheels".split()
)


@dataclass(frozen=True)
class Moment:
    """`seconds` after request number `step` (from 0) went out."""

    step: int
    seconds: float

    @classmethod
    def choose(cls, chance: random.Random, took: Sequence[float]) -> "Moment":
        """Half of them anywhere in work whose requests `took` so long, half within one request.

        The latter are needed because short steps would hardly ever be met by the former.
        """
        if chance.random() < 0.5:
            return cls(0, chance.uniform(0, sum(took) * _BEYOND))
        step = chance.randrange(len(took))
        return cls(step, chance.uniform(0, took[step] * _BEYOND))


class TimedTransport(httpx.BaseTransport):
    """A socket's transport that notes each request and its seconds, and acts once at a moment."""

    def __init__(self, moment: Moment | None = None, act: Callable[[], None] | None = None) -> None:
        self._inner = httpx.HTTPTransport(trust_env=False)
        self._moment = moment
        self._timer = threading.Timer(moment.seconds if moment else 0, act or _nothing)
        self.took: list[float] = []
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        step = len(self.took)
        if self._moment is not None and self._moment.step == step:
            self._timer.start()
        begun = time.monotonic()
        self.took.append(0)
        self.asked.append(_name(request))
        try:
            return self._inner.handle_request(request)
        finally:
            self.took[step] = time.monotonic() - begun

    def wait(self) -> None:
        """Until it has acted; at once when the moment never comes, as its request was not sent."""
        if self._timer.is_alive():
            self._timer.join()

    def close(self) -> None:
        self._inner.close()


def _name(request: httpx.Request) -> str:
    """The method and what is asked for, without ids and secrets: `POST wheels finalize`."""
    words = [word for word in request.url.path.split("/") if word in _WORDS]
    return " ".join([request.method, *words])


def _nothing() -> None:
    """Nobody asked for more."""
