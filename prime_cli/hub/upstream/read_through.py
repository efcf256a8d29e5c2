"""When to query the upstream: once for concurrent requests, and not again for a while."""

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from prime_cli.core.errors import NotFound, Unreachable
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Hub
from prime_cli.hub.services.access import UPSTREAM, find_owner, find_visible
from prime_cli.hub.services.environments import mirror_caller
from prime_cli.hub.upstream import UpstreamHub
from prime_cli.hub.upstream.mirror import mirror
from prime_cli.wire.environments import UpstreamWheel, VersionItem

T = TypeVar("T")

FRESH_SECONDS = 60.0
"""How long an answer of the upstream stays valid, including that there is nothing."""
AWAY_SECONDS = 10.0
"""How long to leave an unresponsive upstream alone if something older is here."""
_REMEMBERED = 10_000
_SHA256 = re.compile("[0-9a-f]{64}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ListedWheels:
    """The wheels of an upstream's index by version; `is_away` if it did not answer just now."""

    wheels: dict[Version, UpstreamWheel]
    is_away: bool = False


class ReadThrough:
    """Mirrors what an upstream has before it is read here.

    Owners of this hub are never looked up there, so that nobody there can impersonate them. What is
    remembered is per process, and valid for `FRESH_SECONDS`.
    """

    def __init__(self, upstream: UpstreamHub, clock: Callable[[], float] = time.monotonic) -> None:
        self.upstream = upstream
        self._clock = clock
        self._until: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._versions: OrderedDict[str, list[VersionItem]] = OrderedDict()
        self._listed: OrderedDict[str, ListedWheels] = OrderedDict()
        self._asking: dict[str, tuple[threading.Lock, int]] = {}
        self._guard = threading.Lock()

    def prepare(self, hub: Hub, ref: EnvRef) -> None:
        """Fetch what `ref` means, unless known to be needless.

        Does nothing if it does not exist: the read then finds nothing either. Raises Unreachable if
        the upstream is down and nothing of the environment is here, and what publishing raises for
        what the upstream should not have.
        """
        key = _key(ref)
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
                raise _unreachable(ref.slug) from error
            return AWAY_SECONDS
        return FRESH_SECONDS

    def versions(self, ref: EnvRef) -> list[VersionItem] | None:
        """Every version that the upstream has of what was prepared, newest first.

        None if it did not say, and for owners of this hub.
        """
        with self._guard:
            return self._versions.get(_slug(ref))

    def prepare_file(self, hub: Hub, ref: EnvRef, filename: str) -> None:
        """Fetch the version of that wheel; nothing for other files.

        Raises what `prepare` does, and Unreachable for one that only the upstream may have.
        """
        version = _version_of(ref, filename)
        if version is None:
            return
        self.prepare(hub, ref.at(str(version)))
        if self._is_away(_key(ref.at(str(version)))):
            raise _unreachable(filename)

    def wheels(self, hub: Hub, ref: EnvRef) -> ListedWheels | None:
        """What the upstream's index lists of an environment; None for owners of this hub.

        If it does not answer, what it listed before.
        """
        if not _may_be_upstream(hub, ref):
            return None
        slug = _slug(ref)
        key = f"{slug} wheels"
        with self._one_at_a_time(key):
            if not self._is_fresh(key):
                self._remember(key, self._list(ref))
        with self._guard:
            return self._listed.get(slug)

    def _list(self, ref: EnvRef) -> float:
        slug = _slug(ref)
        with self._guard:
            before = self._listed.get(slug, ListedWheels({}))
        try:
            found, seconds = _checked(ref, self.upstream.wheels(ref)), FRESH_SECONDS
        except NotFound:
            found, seconds = ListedWheels({}), FRESH_SECONDS
        except Unreachable as error:
            _log.warning("The index of %s shows what is known of its upstream: %s", slug, error)
            found, seconds = replace(before, is_away=True), AWAY_SECONDS
        with self._guard:
            _keep(self._listed, slug, found)
        return seconds

    def _know(self, ref: EnvRef, versions: list[VersionItem]) -> None:
        with self._guard:
            _keep(self._versions, _slug(ref), versions)

    def _is_fresh(self, key: str) -> bool:
        with self._guard:
            return self._until.get(key, (0.0, 0.0))[0] > self._clock()

    def _is_away(self, key: str) -> bool:
        """Whether the upstream did not answer when it was asked."""
        with self._guard:
            return self._until.get(key, (0.0, 0.0))[1] == AWAY_SECONDS

    def _remember(self, key: str, seconds: float) -> None:
        with self._guard:
            _keep(self._until, key, (self._clock() + seconds, seconds))

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


def _keep(memory: OrderedDict[str, T], key: str, value: T) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > _REMEMBERED:
        memory.popitem(last=False)


def _checked(ref: EnvRef, wheels: list[UpstreamWheel]) -> ListedWheels:
    """The wheels that can be of `ref`, one of each version: the first listed."""
    found: dict[Version, UpstreamWheel] = {}
    for wheel in wheels:
        version = _version_of(ref, wheel.filename)
        if version is not None and _SHA256.fullmatch(wheel.sha256):
            found.setdefault(version, wheel)
    return ListedWheels(found)


def _version_of(ref: EnvRef, filename: str) -> Version | None:
    """The version of a wheel of `ref`; None for what is none."""
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    return version if name == normalize_name(ref.name) else None


def _unreachable(what: str) -> Unreachable:
    return Unreachable(
        f"`{what}` is not on this hub, and its upstream hub does not answer",
        hint="try again later",
    )


def _key(ref: EnvRef) -> str:
    return f"{_slug(ref)}@{ref.wire_version}"


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
