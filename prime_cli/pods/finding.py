"""Which pod a word on the command line means."""

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.wire.pods import Pod

_PAGE = 100
_MOST = 10_000
_SHORTEST_BEGINNING = 4


def find_pod(hub: HubClient, word: str) -> Pod:
    """The pod with this id or name, or whose id is the only one that begins like this.

    Raises NotFound, and UsageError where several are meant.
    """
    pods = all_pods(hub)
    meant = (
        [pod for pod in pods if pod.id == word]
        or [pod for pod in pods if pod.name == word]
        or [pod for pod in pods if len(word) >= _SHORTEST_BEGINNING and pod.id.startswith(word)]
    )
    if len(meant) > 1:
        ids = ", ".join(f"`{pod.id}`" for pod in meant)
        raise UsageError(f"`{word}` may be any of {ids}", hint="name the pod by its id")
    if not meant:
        raise NotFound(f"There is no pod `{word}`", hint="`prime pods list` shows those there are")
    return meant[0]


def all_pods(hub: HubClient) -> list[Pod]:
    """All pods of the user; a hub whose pages never end is left after ten thousand."""
    found: list[Pod] = []
    while len(found) < _MOST:
        page = hub.pods.page(offset=len(found), limit=_PAGE)
        found += page.data
        if not page.data or len(found) >= page.total_count:
            break
    return found
