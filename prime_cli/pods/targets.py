"""Which pods are to end: the user's own, or another's that an admin of the hub names by its id."""

from collections.abc import Sequence
from dataclasses import dataclass

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.pods.ending import Ending, Target
from prime_cli.pods.extensions import has_extensions
from prime_cli.pods.past import Found, find_present_or_past
from prime_cli.wire.pods import TERMINATED, Endable, Pod


@dataclass(frozen=True)
class Targets:
    """What several words mean: pods that are there, pods that ended, and nothing."""

    present: Sequence[Target]
    ended: Sequence[Ending]
    unknown: Sequence[PrimeError]


def find_targets(hub: HubClient, words: Sequence[str]) -> Targets:
    """What each of `words` means, every pod once; raises what keeps the hub from answering."""
    present: dict[str, Target] = {}
    ended: dict[str, Ending] = {}
    unknown: list[PrimeError] = []
    for word in words:
        try:
            found = _find(hub, word)
        except (NotFound, UsageError) as error:
            unknown.append(error)
            continue
        if isinstance(found, Ending):
            ended[found.id] = found
        else:
            present[found.pod.id] = found
    return Targets(list(present.values()), list(ended.values()), unknown)


def _find(hub: HubClient, word: str) -> Target | Ending:
    try:
        found = find_present_or_past(hub, word)
    except NotFound:
        known = _find_anothers(hub, word)
        if known is None:
            raise
        return _target_of(known)
    if isinstance(found, Found):
        return Ending(found.pod.id, found.pod.name, TERMINATED, found.pod.total_cost)
    return Target(found)


def _find_anothers(hub: HubClient, pod_id: str) -> Endable | None:
    """The pod with this very id, where the hub lets the user end what it does not list."""
    if not has_extensions(hub):
        return None
    try:
        return hub.pods.endable(pod_id)
    except NotFound:
        return None


def _target_of(known: Endable) -> Target | Ending:
    if known.terminated_at is not None:
        return Ending(known.id, known.name, TERMINATED, billed=None, owner=known.owner)
    pod = Pod(
        id=known.id,
        gpu_name=known.gpu_name,
        gpu_count=known.gpu_count,
        status=known.status,
        name=known.name,
        provider_type=known.provider_type,
        created_at=known.created_at,
        price_hr=known.price_hr,
        nodes=known.nodes,
    )
    return Target(pod, known.owner)
