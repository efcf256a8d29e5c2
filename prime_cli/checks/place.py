"""Where and with what settings prime runs, as the checks see it."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.config import Config
from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import prime_home

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient, Transport


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Place:
    """The folder `here`, the variables, and the settings or why they cannot be read.

    `transport` replaces the sockets to hubs, `box` gives the hub in this process.
    `encodings` are those of stdout and stderr, as they are before anything is written. `limit`
    bounds each subject, in seconds; `script` gives the completion script for a shell, None where
    nobody types.
    """

    here: Path
    environ: Mapping[str, str]
    home: Path
    config: Config | None
    trouble: PrimeError | None = None
    offline: bool = False
    transport: "Transport | None" = None
    box: "Callable[[], HubClient] | None" = None
    encodings: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], datetime] = utc_now
    limit: float = 10.0
    script: Callable[[str], str] | None = None


def place_here(
    settings: Callable[[], Config],
    *,
    offline: bool,
    transport: "Transport | None" = None,
    box: "Callable[[], HubClient] | None" = None,
    script: Callable[[str], str] | None = None,
) -> Place:
    """The place of this process; `settings` gives them, or raises why there are none.

    `offline` holds where they cannot be read. Raises StorageFailed without any home.
    """
    config, trouble = None, None
    try:
        config = settings()
    except PrimeError as error:
        trouble = error  # a check of its own
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    return Place(
        here=Path.cwd(),
        environ=os.environ,
        home=prime_home(),
        config=config,
        trouble=trouble,
        offline=config.offline if config else offline,
        transport=transport,
        box=box,
        script=script,
        encodings={
            name: encoding
            for name, stream in streams.items()
            if (encoding := getattr(stream, "encoding", None))
        },
    )
