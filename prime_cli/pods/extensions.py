"""Whether a hub has what ours have beyond the published API."""

from prime_cli.api.client import HubClient
from prime_cli.wire.pods import FEATURE


def has_extensions(hub: HubClient) -> bool:
    """Whether it ends pods at their deadline, makes several nodes, and can be swept."""
    return FEATURE in hub.capabilities().features
