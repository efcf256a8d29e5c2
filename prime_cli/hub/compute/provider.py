"""What a hub asks of whoever makes machines, and what it is told.

A provider knows tags, not users: `prime-<hub>-<pod>` is on everything that it makes, from the first
moment on, so that what exists can be compared at any time with what the hub's tables say should.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from prime_cli.wire.offers import DiskOffer, GpuOffer


@dataclass(frozen=True)
class Mount:
    """A disk that a pod is given: `tag` is what the provider made it under."""

    disk_id: str
    name: str
    tag: str


@dataclass(frozen=True)
class PodSpec:
    """A pod to be made.

    `vcpus`, `memory` and `disk_size` (GB) are None where the offer's default is meant; `variables`
    are for its processes; `authorized_keys` are the public keys that may log in. From `stop_at` on
    it must not be there any more, which the provider sees to where it can, and the hub in any case.
    """

    tag: str
    pod_id: str
    name: str
    owner: str
    offer: GpuOffer
    stop_at: datetime
    authorized_keys: tuple[str, ...]
    nodes: int = 1
    vcpus: int | None = None
    memory: int | None = None
    disk_size: int | None = None
    image: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    disks: tuple[Mount, ...] = ()


@dataclass(frozen=True)
class SshAddress:
    """Where a node is reached; `config` is a file of ssh for this machine, where one is needed."""

    user: str
    host: str
    port: int = 22
    config: Path | None = None

    def __str__(self) -> str:
        return f"{self.user}@{self.host} -p {self.port}"


@dataclass(frozen=True)
class PodStatus:
    """What a provider sees under a tag: a status of `PodStatusEnum`, its way there in percent, why
    it failed, and how to get in.

    `started_again` is when that was last done to it. One that `is_resumable` is down, and `resume`
    starts it again.
    """

    status: str
    progress: int | None = None
    failure: str | None = None
    addresses: tuple[SshAddress, ...] = ()
    host_keys: tuple[str, ...] = ()
    started_again: datetime | None = None
    is_resumable: bool = False


class Provider(Protocol):
    """Makes pods and disks. Making one is cheap, and nothing is started or read by it."""

    @property
    def name(self) -> str:
        """As offers and pods say it: `local`, `sky`."""

    def offers(self) -> Sequence[GpuOffer]:
        """What can be rented now. Raises PrimeError where it cannot be found out."""

    def disk_offers(self) -> Sequence[DiskOffer]:
        """The disks that can be had, none where there are no such things."""

    def validate_spec(self, order: PodSpec) -> None:
        """Raise UsageError that names the first wish of an order that cannot be met."""

    def start(self, order: PodSpec) -> None:
        """Begin to make a pod, and return before it is up; to begin again changes nothing.

        What comes of it is seen by `look`, also by another process. Raises PrimeError when it
        cannot even begin; nothing is left then.
        """

    def inspect(self, tags: Collection[str]) -> Mapping[str, PodStatus]:
        """What is there of `tags`; those of which there is nothing (any more) are left out."""

    def resume(self, tag: str) -> None:
        """Start a pod again that is resumable, once if several do so at the same time.

        Of any other nothing changes. Raises PrimeError where it cannot begin; it stays as it is.
        """

    def list_tags(self, prefix: str) -> Collection[str]:
        """Every tag that begins like this of which anything is there, in whatever state."""

    def end(self, tag: str) -> None:
        """Let nothing be left of a pod, its disks excepted. Of nothing, nothing is left.

        Raises PrimeError where that fails, or goes on for longer than a request should take: then
        `look` says DELETING.
        """

    def log(self, tag: str, lines: int) -> str:
        """The last lines of what was said while the pod was made and while it ran."""

    def make_disk(self, tag: str, size: int) -> None:
        """Make an empty disk of `size` GB; raises UsageError where there are no such things."""

    def remove_disk(self, tag: str) -> None:
        """Let nothing be left of a disk."""

    def list_disk_tags(self, prefix: str) -> Collection[str]:
        """As `found`, for disks."""
