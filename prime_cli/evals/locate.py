"""From the word on the command line to a project folder, a wheel or a hub's environment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef
from prime_cli.envs.local import choose_local
from prime_cli.envs.locking.pins import locked_ref
from prime_cli.envs.names import resolve_name
from prime_cli.envs.trust.gate import Gate

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class Places:
    """Where environments are looked for: `cwd`, then the hub that `hub` opens when needed.

    `owner` is who publishes from here on the hub in the box; `gate` asks about strangers.
    `env_vars` are the variables that environments may always read, by `owner/name`.
    """

    cwd: Path
    hub: "Callable[[], HubClient]"
    offline: bool = False
    owner: str | None = None
    gate: Gate = field(default_factory=Gate)
    env_vars: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Located = Path | EnvRef
"""A project folder or a wheel on this disk, or an environment of the hub."""


def locate(
    text: str,
    places: Places,
    progress: Progress,
    *,
    hub_only: bool = False,
    obey_lock: bool = True,
) -> Located:
    """What `text` means: this disk first, then prime.lock, then the hub; says which it took.

    Fetches nothing. `obey_lock` False leaves out the workspace's prime.lock, which decides about
    names without a version. Raises NotFound, BadReference, or UsageError where several owners have
    the name or the lock cannot be read.
    """
    local = None if hub_only else choose_local(text, places.cwd, progress)
    if local is not None:
        return local
    locked = locked_ref(text, places.cwd) if obey_lock else None
    if locked is not None:
        progress.say(f"`{text}` is {locked}, as prime.lock says; `@latest` takes the newest")
        return locked
    return resolve_name(places.hub(), text, progress=progress)
