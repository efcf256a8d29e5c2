"""Find the pod, disk or key named on the command line among all on a hub."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from prime_cli.api.accounts import fetch_all
from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.pods.formatting import gpu_words, timestamp
from prime_cli.wire.pods import FEATURE, Pod

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
