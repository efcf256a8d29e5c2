"""What is left behind: by pods at a hub, and on this machine by pods that are gone."""

from collections.abc import Sequence
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.pods.ssh.config import ReachedPod, forget_pod, list_reached_pods
from prime_cli.wire.pods import Leak

KIND_HERE = "ssh alias and host keys"


def find_orphans(hub: HubClient) -> Sequence[Leak]:
    """What costs, or takes room, without need; nothing is ended."""
    return hub.pods.sweep(dry_run=True).leaks


def terminate_orphans(hub: HubClient) -> Sequence[Leak]:
    """The same, ended where that was possible."""
    return hub.pods.sweep(dry_run=False).leaks


def find_local_files(hub: HubClient, home: Path) -> list[Leak]:
    """Files below prime's `home` for pods of this hub that are gone; those of other hubs stay."""
    return [
        Leak(kind=KIND_HERE, id=known.pod_id, provider="this machine")
        for known in list_reached_pods(home)
        if _is_gone(hub, known)
    ]


def remove_local_files(home: Path, found: Sequence[Leak]) -> list[Leak]:
    """Remove what `find_local_files` found."""
    return [Leak(kind=each.kind, id=each.id, provider=each.provider,
                 ended=forget_pod(home, each.id)) for each in found]  # fmt: skip


def _is_gone(hub: HubClient, known: ReachedPod) -> bool:
    """Whether this hub says that it ended; of one that it does not know, only if it was its own."""
    if known.hub not in (None, hub.base_url):
        return False
    try:
        return hub.pods.get(known.pod_id).terminated_at is not None
    except NotFound:
        return known.hub is not None
