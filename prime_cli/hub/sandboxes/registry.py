"""Providers of sandboxes by name: each is an entry point of the group `prime.sandboxes`.

Its value is a function that takes a SandboxContext and returns a SandboxProvider. More providers
can come from other packages.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from prime_cli.hub.sandboxes.provider import SandboxProvider

GROUP = "prime.sandboxes"

_OURS = tuple(
    EntryPoint(name, f"prime_cli.hub.sandboxes.{name}.provider:open_provider", GROUP)
    for name in ("bubblewrap", "engine", "kubernetes")
)
"""Also where the installed metadata are older than this code, as in an editable installation."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SandboxContext:
    """The context for opening a provider, which keeps its files in its own folder in `folder`."""

    folder: Path


def open_providers(context: SandboxContext) -> Mapping[str, SandboxProvider]:
    """All that are installed, by name; a broken package must not affect the others."""
    found: dict[str, SandboxProvider] = {}
    for point in {each.name: each for each in (*_OURS, *entry_points(group=GROUP))}.values():
        try:
            found[point.name] = point.load()(context)
        except Exception:
            if point.value.startswith("prime_cli."):
                raise
            _log.exception("The provider `%s` of `%s` cannot be opened", point.name, point.value)
    return found
