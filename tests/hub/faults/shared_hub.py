"""One hub behind two addresses, and clients that use it at the same time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self, TypeVar

import httpx

from tests.hub.pushing import Push, data

T = TypeVar("T")

_SECONDS = 120


@dataclass(frozen=True)
class SharedHub:
    """A hub with its admin's key and two addresses, which may be the same.

    Its clients are closed when it is left.
    """

    key: str
    urls: tuple[str, str]
    _clients: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._clients.close()

    def client(self, place: int, key: str | None = None) -> httpx.Client:
        """As the admin by default, at the first or the second address; with "" as nobody.

        Each has connections of its own, so that the workers behind one port share them out.
        """
        key = self.key if key is None else key
        headers = {"authorization": f"Bearer {key}"} if key else {}
        url = self.urls[place % 2]
        client = httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=_SECONDS)
        return self._clients.enter_context(client)

    def elsewhere(self, url: str) -> str:
        """What the first address gave, at the second."""
        first, second = self.urls
        assert url.startswith(first)
        return second + url.removeprefix(first)


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """What each of them returns, begun at the same moment."""
    start = threading.Barrier(len(works))

    def run(work: Callable[[], T]) -> T:
        start.wait(_SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def attempt(push: Push) -> httpx.Response:
    """Push until a step is refused; its answer, or that of the last one."""
    for answer in _steps(push):
        last = answer
        if not answer.is_success:
            break
    return last


def _steps(push: Push) -> Iterator[httpx.Response]:
    yield (answer := push.resolve())
    push.environment_id = data(answer)["id"]
    yield (answer := push.declare_wheel())
    ticket = data(answer)
    if ticket["upload_url"] is not None:
        yield push.client.put(ticket["upload_url"], content=push.wheel)
        yield push.finalize("wheels", ticket["wheel_id"])
    yield (answer := push.declare_version())
    ticket = data(answer)
    yield push.client.put(ticket["upload_url"], content=push.sources)
    yield push.finalize("versions", ticket["version_id"])
