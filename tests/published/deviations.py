"""Where our hubs and clients say something else than the published schemas, and why: all of it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Deviation:
    """One name, wherever it stands, may have these values too."""

    name: str
    values: tuple[Any, ...]
    reason: str


OF_OUR_HUB = (
    Deviation(
        "provider", ("local", "sky"), "offers of providers that the public hub does not have"
    ),
    Deviation("providerType", ("local", "sky"), "pods and disks of the same"),
    Deviation("type", ("local", "sky"), "the choice of the same, in a request to our hub"),
    Deviation(
        "socket", (None,), "a machine without a GPU has no socket; released clients read null"
    ),
    Deviation("sharedDisk", (None,), "released clients read null"),
)
"""Further names in an answer (`stopAt`, `nodes`, `hostKeys`, `sshConfig`, `priceHr` and
`primePortMapping` in a status) are none: the schemas are open. A 422 of ours also has `detail`,
`code` and `hint`. The slash at the end of collections is left out by released clients; our hub
answers both.
"""

OF_OUR_CLIENT: tuple[Deviation, ...] = ()
"""To a hub without our feature: nothing at all."""
