"""From the word on the command line to a project folder, a wheel or a hub's environment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef
from prime_cli.envs.local import choose_local
from prime_cli.envs.names import resolve_name
from prime_cli.envs.trust.gate import Gate

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class Places:
    """Where environments are looked for: `cwd`, then the hub that `hub` opens when needed.

    `owner` is who publishes from here on the hub in the box; `gate` asks about strangers.
    """

    cwd: Path
    hub: "Callable[[], HubClient]"
    offline: bool = False
    owner: str | None = None
    gate: Gate = field(default_factory=Gate)


Located = Path | EnvRef
"""A project folder or a wheel on this disk, or an environment of the hub."""


def locate(text: str, places: Places, progress: Progress, *, hub_only: bool = False) -> Located:
    """What `text` means: this disk first, then the hub; says which it took. Fetches nothing.

    Raises NotFound, BadReference, or UsageError where several owners have the name.
    """
    local = None if hub_only else choose_local(text, places.cwd, progress)
    return resolve_name(places.hub(), text, progress=progress) if local is None else local
