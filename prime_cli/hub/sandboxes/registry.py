"""Providers of sandboxes by name, prime's own and plugins of the group `prime.sandboxes`.

Each is a function that takes a SandboxContext and returns a SandboxProvider.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.plugins import open_plugins
from prime_cli.hub.sandboxes.provider import SandboxProvider

GROUP = "prime.sandboxes"
_OWN = {
    name: f"prime_cli.hub.sandboxes.{name}.provider:open_provider"
    for name in ("bubblewrap", "engine", "kubernetes")
}


@dataclass(frozen=True)
class SandboxContext:
    """The context for opening a provider, which keeps its files in its own folder in `folder`."""

    folder: Path


def open_providers(context: SandboxContext) -> Mapping[str, SandboxProvider]:
    """All that are installed, by name."""
    return dict(open_plugins(GROUP, _OWN, lambda _name: context))
