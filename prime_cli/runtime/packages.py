"""The wheel of an environment that is to be run."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from prime_cli.archive.wheels import WheelFacts


@dataclass(frozen=True)
class WheelPackage:
    """A wheel on this disk whose bytes are known to have `sha256`.

    `published` is when its version appeared on the hub (with a time zone), None for a wheel that
    was built here just now.
    """

    path: Path
    sha256: str
    facts: WheelFacts
    published: datetime | None = None
