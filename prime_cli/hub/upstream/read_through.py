"""When to query the upstream: once for concurrent requests, and not again for a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prime_cli.core.errors import NotFound, Unreachable
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Hub
from prime_cli.hub.services.access import UPSTREAM, find_owner, find_visible
from prime_cli.hub.services.environments import mirror_caller
from prime_cli.hub.upstream import UpstreamHub
from prime_cli.hub.upstream.mirror import mirror
from prime_cli.wire.environments import VersionItem

FRESH_SECONDS = 60.0
"""How long an answer of the upstream stays valid, including that there is nothing."""
AWAY_SECONDS = 10.0
"""How long to leave an unresponsive upstream alone if something older is here."""
_REMEMBERED = 10_000


class ReadThrough:
    """Mirrors what an upstream has before it is read here.

    Owners of this hub are never looked up there, so that nobody there can impersonate them. What is
    remembered is per process, and valid for `FRESH_SECONDS`.
    """

    def __init__(self, upstream: UpstreamHub, clock: Callable[[], float] = time.monotonic) -> None:
        self.upstream = upstream
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()
        self._versions: OrderedDict[str, list[VersionItem]] = OrderedDict()
        self._asking: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()

    def prepare(self, hub: Hub, ref: EnvRef) -> None:
        """Fetch what `ref` means, unless known to be needless.

        Does nothing if it does not exist: the read then finds nothing either. Raises Unreachable if
        the upstream is down and nothing of the environment is here, and what publishing raises for
        what the upstream should not have.
        """
        key = f"{_slug(ref)}@{ref.wire_version}"
        if self._is_fresh(key) or not _may_be_upstream(hub, ref):
            return
        with self._one_at_a_time(key):
            if not self._is_fresh(key):
                self._remember(key, self._fetch(hub, ref))

    def _fetch(self, hub: Hub, ref: EnvRef) -> float:
        """How long the result is valid, in seconds."""
        try:
            self._know(ref, mirror(hub, self.upstream, ref))
        except NotFound:
            return FRESH_SECONDS
        except Unreachable as error:
            if not _is_known(hub, ref):
                raise Unreachable(
                    f"`{ref.slug}` is not on this hub, and its upstream hub does not answer",
                    hint="try again later",
                ) from error
            return AWAY_SECONDS
        return FRESH_SECONDS

    def versions(self, ref: EnvRef) -> list[VersionItem] | None:
        """Every version that the upstream has of what was prepared, newest first.

        None if it did not say, and for owners of this hub.
        """
        with self._guard:
            return self._versions.get(_slug(ref))

    def _know(self, ref: EnvRef, versions: list[VersionItem]) -> None:
        with self._guard:
            self._versions[_slug(ref)] = versions
            self._versions.move_to_end(_slug(ref))
            while len(self._versions) > _REMEMBERED:
                self._versions.popitem(last=False)

    def _is_fresh(self, key: str) -> bool:
        with self._guard:
            return self._until.get(key, 0.0) > self._clock()

    def _remember(self, key: str, seconds: float) -> None:
        with self._guard:
            self._until[key] = self._clock() + seconds
            self._until.move_to_end(key)
            while len(self._until) > _REMEMBERED:
                self._until.popitem(last=False)

    @contextmanager
    def _one_at_a_time(self, key: str) -> Iterator[None]:
        """A lock by name, which exists only while it is held or awaited."""
        with self._guard:
            lock, waiting = self._asking.get(key, (threading.Lock(), 0))
            self._asking[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._asking.pop(key)
                if waiting > 1:
                    self._asking[key] = lock, waiting - 1


def _slug(ref: EnvRef) -> str:
    return f"{ref.owner}/{normalize_name(ref.name)}"


def _may_be_upstream(hub: Hub, ref: EnvRef) -> bool:
    with hub.database.read() as connection:
        owner = find_owner(connection, ref.owner)
    return owner is None or owner.type == UPSTREAM


def _is_known(hub: Hub, ref: EnvRef) -> bool:
    with hub.database.read() as connection:
        row = find_visible(connection, mirror_caller(ref.owner), ref)
    return row is not None and row.latest_version_id is not None
