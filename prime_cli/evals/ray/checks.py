"""Whether a node that has joined can run what this machine would."""

import sys
from collections.abc import Iterable

from prime_cli import __version__
from prime_cli.core.errors import UsageError
from prime_cli.core.http import is_loopback
from prime_cli.evals.ray.messages import WorkerJoined
from prime_cli.models.endpoints import Endpoint


def require_same_prime(joined: WorkerJoined) -> None:
    """Raise UsageError for a node without prime, or with another prime or Python."""
    ours, theirs = f"prime {__version__}", f"prime {joined.prime}"
    python = ".".join(map(str, sys.version_info[:2]))
    if joined.prime is None:
        raise UsageError(
            f"The node {joined.host} has no prime, and this machine {ours}",
            hint="install it there, with its `ray` extra, where `ray start` is run",
        )
    if joined.prime != __version__ or not joined.python.startswith(f"{python}."):
        raise UsageError(
            f"The node {joined.host} has {theirs} for Python {joined.python}, this machine "
            f"{ours} for Python {python}",
            hint="install the same on all machines of the cluster",
        )


def require_reachable(endpoints: Iterable[Endpoint], node: str, here: str) -> None:
    """Raise UsageError if the model is at a loopback address `here`, and `node` is elsewhere."""
    near = next((each.url for each in endpoints if each.url and is_loopback(each.url)), None)
    if near is not None and node != here:
        raise UsageError(
            f"The model is at {near}, on this machine alone, and the node {node} would look for "
            "it there",
            hint="have it listen on all addresses, and name one that nodes reach with `-b`",
        )
