"""Find an environment: on the hub, then on its upstream, then in what was fetched before."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.config import STARTER_OWNER
from prime_cli.core.errors import NotFound, Offline, Unreachable
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef
from prime_cli.envs import records
from prime_cli.envs.bundles.kept import Bundled, find_bundled
from prime_cli.envs.identity import check_identity
from prime_cli.envs.names import suggest
from prime_cli.envs.records import Record
from prime_cli.envs.trust.gate import check_pin
from prime_cli.wire.environments import EnvironmentDetail

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

_SHOWN_VERSIONS = 5


@dataclass(frozen=True)
class Found:
    """An environment and the hub that has it; `record` where an earlier fetch has to answer.

    `bundled` where no hub has it, or can be asked, and it came to this machine in a bundle.
    """

    hub: "HubClient"
    detail: EnvironmentDetail
    record: Record | None = None
    bundled: Bundled | None = None

    @property
    def ref(self) -> EnvRef:
        """Owner, name and exact version, as the hub spells them."""
        detail = self.detail
        return EnvRef(detail.owner.name, detail.name, detail.semantic_version)


def find_environment(
    hub: "HubClient",
    ref: EnvRef,
    *,
    home: Path,
    progress: Progress,
    offline: bool = False,
    bundles: Collection[Path] | None = None,
) -> Found:
    """The environment `ref` means; raises NotFound with what is near it.

    It is Unreachable, or Offline, where a hub that may have it cannot be asked. A hub that has no
    such environment may have an upstream, which is asked in its place. Where prime is offline,
    what was fetched before answers for a hub that needs a connection; what no hub tells may have
    come in a bundle, one of the folders `bundles` (None: any). Raises IntegrityError where the
    hub answers about another environment, or tells another sha256 than `ref` pins.
    """
    try:
        found = _find(hub.of(ref.owner), ref, home=home, progress=progress, offline=offline)
    except (NotFound, Unreachable):
        bundled = find_bundled(home, ref, among=bundles)
        if bundled is None:
            raise
        progress.say(f"{bundled.ref} came to this machine in a bundle")
        found = Found(hub, bundled.record.detail, bundled.record, bundled)
    told = found.detail.wheel_sha256
    if ref.sha256 is not None and told is not None:
        check_pin(found.ref, told.lower(), ref.sha256)
    return found


def _find(hub: "HubClient", ref: EnvRef, *, home: Path, progress: Progress, offline: bool) -> Found:
    try:
        return _ask(hub, ref, home=home, progress=progress, offline=offline)
    except NotFound as missing:
        versions = _versions_of(hub, ref)
        if versions:
            raise NotFound(
                f"{ref.slug} has no version {ref.version}",
                hint=f"it has {', '.join(versions)}; see `prime env versions {ref.slug}`",
            ) from missing
        if hub.upstream is None or ref.owner == STARTER_OWNER:
            raise _not_found(ref, suggest(hub, ref.slug)) from missing
        return _ask_upstream(hub, hub.upstream, ref, home=home, progress=progress, offline=offline)


def _ask_upstream(
    hub: "HubClient",
    upstream: "HubClient",
    ref: EnvRef,
    *,
    home: Path,
    progress: Progress,
    offline: bool,
) -> Found:
    try:
        found = _ask(upstream, ref, home=home, progress=progress, offline=offline)
    except NotFound as missing:
        raise _not_found(ref, suggest(hub, ref.slug), f"nor has {upstream.host}") from missing
    except Unreachable as error:
        raise _not_known(ref, upstream.host, error, suggest(hub, ref.slug)) from error
    progress.say(f"{ref.slug} is not on this machine, so it comes from {upstream.host}")
    return found


def _ask(hub: "HubClient", ref: EnvRef, *, home: Path, progress: Progress, offline: bool) -> Found:
    try:
        return Found(hub, _get(hub, ref, offline=offline))
    except Offline:
        record = records.load(home, hub.host, ref)
        if record is None:
            raise
        progress.say(f"{ref.slug} {record.detail.semantic_version} was fetched before")
        return Found(hub, record.detail, record)


def _get(hub: "HubClient", ref: EnvRef, *, offline: bool) -> EnvironmentDetail:
    if offline and not hub.in_process:
        raise Offline(
            f"{ref} was not fetched before, and prime is offline",
            hint=f"run it once without `--offline`, so that {hub.host} can be asked",
        )
    detail = hub.environments.get(ref)
    check_identity(hub.host, ref, detail)
    return detail


def _versions_of(hub: "HubClient", ref: EnvRef) -> list[str]:
    """The newest versions of an environment whose version `ref` names; none if it is unknown."""
    if ref.version is None:
        return []
    try:
        rows = hub.environments.versions(ref)
    except NotFound:
        return []
    return [row.version for row in rows[:_SHOWN_VERSIONS]]


def _not_known(ref: EnvRef, host: str, error: Unreachable, nearest: str | None) -> Unreachable:
    """It is not here, and whether there is one elsewhere could not be asked."""
    if isinstance(error, Offline):
        return Offline(
            f"`{ref.slug}` is not on this machine, and prime is offline",
            hint=nearest or f"run it once without `--offline`, so that {host} can be asked",
        )
    return Unreachable(
        f"`{ref.slug}` is not on this machine, and {host} cannot be reached",
        hint=nearest or "check the network, or name the hub that has it with `--context`",
    )


def _not_found(ref: EnvRef, *hints: str | None) -> NotFound:
    told = [hint for hint in hints if hint] or ["see what there is with `prime env list`"]
    return NotFound(f"There is no environment `{ref.slug}`", hint="; ".join(told))
