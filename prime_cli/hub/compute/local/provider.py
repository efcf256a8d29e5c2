"""The machine of the hub as a provider of pods and disks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.hub.compute.provider import PodSpec, PodStatus, Provider
from prime_cli.wire.offers import DiskOffer, GpuOffer

if TYPE_CHECKING:
    from prime_cli.hub.compute.local.pods import LocalPods


@dataclass(frozen=True)
class LocalProvider:
    """Pods in `folder`, reached at `host`, an address or name of this machine.

    Without `users` every pod runs as whoever runs the hub, and nothing separates them from that
    person or from each other. With them, which takes root, each has a system user of its own; see
    `local.served`. Making one loads and starts nothing.
    """

    folder: Path
    host: str = "127.0.0.1"
    users: bool = False

    @property
    def name(self) -> str:
        return "local"

    def offers(self) -> Sequence[GpuOffer]:
        return self._pods.offers()

    def disk_offers(self) -> Sequence[DiskOffer]:
        return self._pods.disk_offers()

    def validate_spec(self, order: PodSpec) -> None:
        self._pods.validate_spec(order)

    def start(self, order: PodSpec) -> None:
        self._pods.start(order)

    def inspect(self, tags: Collection[str]) -> Mapping[str, PodStatus]:
        return self._pods.inspect(tags)

    def resume(self, tag: str) -> None:
        self._pods.resume(tag)

    def list_tags(self, prefix: str) -> Collection[str]:
        return self._pods.list_tags(prefix)

    def end(self, tag: str) -> None:
        self._pods.end(tag)

    def log(self, tag: str, lines: int) -> str:
        return self._pods.log(tag, lines)

    def make_disk(self, tag: str, size: int) -> None:
        self._pods.make_disk(tag, size)

    def remove_disk(self, tag: str) -> None:
        self._pods.remove_disk(tag)

    def list_disk_tags(self, prefix: str) -> Collection[str]:
        return self._pods.list_disk_tags(prefix)

    @cached_property
    def _pods(self) -> "LocalPods":
        from prime_cli.hub.compute.local.pods import LocalPods

        return LocalPods(self.folder, self.host, users=self.users)


def _is_a_provider(local: LocalProvider) -> Provider:
    """For mypy: what is asked of one is here."""
    return local
