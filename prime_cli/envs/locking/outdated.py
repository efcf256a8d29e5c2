"""`env outdated`: what is installed and locked, against the newest on the hub."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from prime_cli.core.config import STARTER_OWNER
from prime_cli.core.errors import NotFound, Offline
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.installed import InstalledEnvironment, list_installed
from prime_cli.envs.locking.file import EnvironmentLock, LockedEnvironment
from prime_cli.envs.locking.place import find_lock
from prime_cli.envs.owned import OpenHub
from prime_cli.envs.workspace import find_workspace, site_packages

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


class Standing(StrEnum):
    """How what is here compares with the newest version on the hub."""

    CURRENT = "current"
    OUTDATED = "outdated"
    AHEAD = "ahead"
    CHANGED = "changed"
    """The same version with other sources."""
    GONE = "not on the hub"


@dataclass(frozen=True)
class Freshness:
    """One environment, as `owner/name`, with its versions; None where it is not there."""

    environment: str
    installed: str | None
    locked: str | None
    newest: str | None
    standing: Standing

    @property
    def is_old(self) -> bool:
        """Whether there is something else to be had than what is here."""
        return self.standing in (Standing.OUTDATED, Standing.CHANGED)


@dataclass(frozen=True)
class Holding:
    """An environment that is here: installed, locked, or both."""

    ref: EnvRef
    installed: str | None = None
    locked: LockedEnvironment | None = None


def list_holdings(
    installed: Iterable[InstalledEnvironment], lock: EnvironmentLock | None
) -> tuple[Holding, ...]:
    """What was installed from a hub and what is locked, by `owner/name`."""
    found = {}
    for entry in lock.environments if lock else ():
        found[entry.env_ref.slug] = Holding(entry.env_ref, locked=entry)
    for each in installed:
        if each.origin is None or each.origin.ref is None:
            continue
        ref = EnvRef.parse(each.origin.ref)
        locked = lock.find(ref) if lock else None
        slug = locked.env_ref.slug if locked else ref.slug
        found[slug] = Holding(locked.env_ref if locked else ref, each.version, locked)
    return tuple(found[slug] for slug in sorted(found))


def find_holdings(here: Path, python: str | None = None) -> tuple[Holding, ...]:
    """What the workspace and the prime.lock seen from the folder `here` hold.

    `python` names another workspace. Raises as `find_workspace` and `find_lock` do.
    """
    workspace = find_workspace(python, here=here)
    return list_holdings(list_installed(site_packages(workspace)), find_lock(here))


def pick_holdings(words: Sequence[str], held: Sequence[Holding]) -> tuple[Holding, ...]:
    """Those that `words` name, bare or with their owner; raises NotFound."""
    if not words:
        return tuple(held)
    return tuple(_pick(word, held) for word in words)


def check_freshness(
    held: Sequence[Holding],
    hub: OpenHub,
    *,
    offline: bool = False,
    told: Callable[[], None] = lambda: None,
) -> tuple[Freshness, ...]:
    """Ask the hub for the newest version of each; `told` is called after every answer.

    A hub that does not have one may have an upstream, which is then asked. Raises Unreachable,
    Offline, NotAllowed; an environment that is on neither is no failure.
    """
    found = []
    for each in held:
        found.append(_compare(each, *_newest(hub().of(each.ref.owner), each.ref, offline=offline)))
        told()
    return tuple(found)


def _pick(word: str, held: Sequence[Holding]) -> Holding:
    for each in held:
        if "/" in word:
            if each.ref.is_same(EnvRef.parse(word)):
                return each
        elif normalize_name(each.ref.name) == normalize_name(word):
            return each
    raise NotFound(
        f"`{word}` is neither installed from a hub nor locked here",
        hint="see what is with `prime env outdated --all`",
    )


def _newest(hub: "HubClient", ref: EnvRef, *, offline: bool) -> tuple[str | None, str | None]:
    """The newest version and its content hash; None for an environment that is not there."""
    if offline and not hub.in_process:
        raise Offline(
            f"What is newest is known to {hub.host} alone, and prime is offline",
            hint="run it without `--offline`",
        )
    try:
        newest = hub.environments.status(ref).latest_version
    except NotFound:
        if hub.upstream is None or ref.owner == STARTER_OWNER:
            return None, None
        return _newest(hub.upstream, ref, offline=offline)
    return (newest.semantic_version, newest.content_hash) if newest else (None, None)


def _compare(held: Holding, newest: str | None, content_hash: str | None) -> Freshness:
    locked = held.locked.env_ref.version if held.locked else None
    standing = Standing.GONE
    if newest is not None:
        here = [version for version in (held.installed, locked) if version]
        standing = _standing(here, newest)
        known = held.locked.content_hash if held.locked and locked == newest else None
        if standing is Standing.CURRENT and content_hash and known and known != content_hash:
            standing = Standing.CHANGED
    return Freshness(held.ref.slug, held.installed, locked, newest, standing)


def _standing(here: Sequence[str], newest: str) -> Standing:
    top = _version(newest)
    versions = [_version(each) for each in here]
    if top is None or None in versions:
        return Standing.CURRENT if all(each == newest for each in here) else Standing.OUTDATED
    if any(each < top for each in versions if each is not None):
        return Standing.OUTDATED
    return Standing.AHEAD if any(each > top for each in versions if each) else Standing.CURRENT


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
