"""The pod, disk or key that a word means, and pods of the history."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from prime_cli.client.api.accounts import fetch_all
from prime_cli.client.api.client import HubClient
from prime_cli.client.pods.listing import gpu_words, moment, timestamp
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.wire.pods import FEATURE, TERMINATED, PastPod, Pod
from prime_cli.wire.queries import ListPage, PageQuery

_SHORTEST_BEGINNING = 4
_MOST_LISTED = 20


class Named(Protocol):
    """An object on a hub with an id, and perhaps a name."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str | None: ...


Thing = TypeVar("Thing", bound=Named)


def find_pod(hub: HubClient, word: str) -> Pod:
    """The pod with this id or name, or the only one whose id begins with it.

    Raises NotFound, and UsageError if several match.
    """
    return require_one(hub, match(all_pods(hub), word), word, "pod", label=_label)


def shortest_name(pod: Pod, other_names: Collection[str | None]) -> str:
    """How to address this pod in commands: its name if it has a unique one, else its id."""
    return pod.id if pod.name is None or pod.name in other_names else pod.name


def all_pods(hub: HubClient) -> list[Pod]:
    """All pods of the user."""
    return fetch_all(hub.pods.page)


def match(things: Sequence[Thing], word: str) -> list[Thing]:
    """Those with this id, else those with this name, else those whose id begins with it."""
    return (
        [thing for thing in things if thing.id == word]
        or [thing for thing in things if thing.name == word]
        or [thing for thing in things if begins_id(word, thing.id)]
    )


def begins_id(word: str, whole: str) -> bool:
    """Whether `word` is a long enough prefix of the id `whole`."""
    return len(word) >= _SHORTEST_BEGINNING and whole.startswith(word)


def require_one(
    hub: HubClient,
    found: Sequence[Thing],
    word: str,
    noun: str,
    *,
    label: Callable[[Thing], str],
    by: str = "id",
) -> Thing:
    """The single match.

    `noun` is `pod`, `disk` or `SSH key`. Raises NotFound, and UsageError for several: each is shown
    by its `label`, and told apart by `by`.
    """
    if len(found) > 1:
        raise UsageError(
            f"`{word[:80]}` matches {len(found)} {noun}s",
            detail="\n".join(map(label, found[:_MOST_LISTED])),
            hint=f"use the {noun}'s {by}",
        )
    if not found:
        group = f"{noun.lower().replace(' ', '-')}s"
        raise NotFound(
            f"No {noun} `{word[:80]}` on {hub.host}",
            hint=f"list them with `prime {group} list`",
        )
    return found[0]


def _label(pod: Pod) -> str:
    gpu = gpu_words(pod.gpu_name, pod.gpu_count)
    return f"{pod.id}  {gpu}, {pod.shown_status}, made {timestamp(pod.created_at)}"


def has_extensions(hub: HubClient) -> bool:
    """Whether the hub ends pods at their deadline, creates several nodes, and can sweep."""
    return FEATURE in hub.capabilities().features


# --- History ---

_PAGE = 100
_MOST = 10_000
_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600


@dataclass(frozen=True)
class HistoryMatch:
    """A pod of the history, and how many ended after it."""

    pod: PastPod
    position: int


class LastState(msgspec.Struct, frozen=True):
    """How a pod ended, if its hub still knows."""

    status: str = TERMINATED
    installation_error: str | UnsetType = UNSET


def list_ended(hub: HubClient, query: PageQuery) -> ListPage[PastPod]:
    """One page of the history; raises NotLoggedIn if the hub does not know the user."""
    page = hub.pods.history(offset=query.offset, limit=query.limit)
    return ListPage(page.data, page.total_count, query.offset, query.limit)


def find_present_or_past(hub: HubClient, word: str) -> Pod | HistoryMatch:
    """The pod named by `word`, or else the most recently ended one of that name.

    Raises NotFound, and UsageError if several existing pods match.
    """
    try:
        return find_pod(hub, word)
    except NotFound:
        found = find_ended(hub, word)
        if found is None:
            raise
        return found


def find_ended(hub: HubClient, word: str) -> HistoryMatch | None:
    """The most recently ended pod with this id, name or beginning of an id."""
    position, best = 0, None
    while position < _MOST:
        page = hub.pods.history(offset=position, limit=_PAGE)
        for pod in page.data:
            if pod.id == word:
                return HistoryMatch(pod, position)
            if best is None and (pod.name == word or begins_id(word, pod.id)):
                best = HistoryMatch(pod, position)
            position += 1
        if not page.data or position >= page.total_count:
            break
    return best


def read_last_state(hub: HubClient, pod_id: str) -> LastState:
    """How a pod of the history ended: in an ERROR, or by request."""
    try:
        pod = hub.pods.get(pod_id)
    except NotFound:
        return LastState()
    return LastState(pod.status, pod.installation_failure or UNSET)


class EndedPod(msgspec.Struct, frozen=True):
    """A pod of the history, amounts in USD; `status` and what follows only by itself.

    `duration` is as `12m`, `1.5h` or `2.0d`, the official client's form.
    """

    id: str
    name: str | None
    provider: str
    gpu: str
    created_at: str
    terminated_at: str | None
    duration: str | None
    price_per_hour: float | None
    total_cost: float | None
    team_id: str | None
    status: str | UnsetType = UNSET
    installation_error: str | UnsetType = UNSET


def ended_pod(pod: PastPod, last: LastState | None = None) -> EndedPod:
    """A pod of the history, with its `last` state if that has been read."""
    return EndedPod(
        id=pod.id,
        name=pod.name,
        provider=pod.provider_type,
        gpu=gpu_words(pod.gpu_name, pod.gpu_count),
        created_at=timestamp(pod.created_at),
        terminated_at=timestamp(pod.terminated_at) if pod.terminated_at else None,
        duration=_duration(pod),
        price_per_hour=pod.price_hr,
        total_cost=pod.total_billed_price,
        team_id=pod.team_id,
        status=last.status if last else UNSET,
        installation_error=last.installation_error if last else UNSET,
    )


def _duration(pod: PastPod) -> str | None:
    begun, gone = moment(pod.created_at), moment(pod.terminated_at)
    if begun is None or gone is None:
        return None
    seconds = (gone - begun).total_seconds()
    if seconds < _HOUR:
        return f"{int(seconds / _MINUTE)}m"
    return f"{seconds / _HOUR:.1f}h" if seconds < _DAY else f"{seconds / _DAY:.1f}d"
