"""What a check sees, and what it reports: one sentence, and what to do about it."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from prime_cli.core.config import Config
from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import prime_home

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient, Transport


Status = Literal["ok", "warning", "failed", "skipped"]


class Finding(msgspec.Struct, frozen=True):
    """One line of `prime doctor`; `fix` is the next step where something is to be done.

    `failed` is what keeps commands from working, `warning` what may, `skipped` what could not be
    looked at. No sentence ever holds a key.
    """

    name: str
    status: Status
    sentence: str
    fix: str | None = None


def ok(name: str, sentence: str) -> Finding:
    """Nothing is to be done."""
    return Finding(name, "ok", sentence)


def warned(name: str, sentence: str, fix: str) -> Finding:
    """Something that some commands will stumble over."""
    return Finding(name, "warning", sentence, fix)


def failed(name: str, sentence: str, fix: str) -> Finding:
    """Something that commands fail by."""
    return Finding(name, "failed", sentence, fix)


def skipped(name: str, sentence: str) -> Finding:
    """Something that cannot be looked at here, and why."""
    return Finding(name, "skipped", sentence)


def worst(findings: list[Finding]) -> Status:
    """`failed` where anything failed, else `warning` where anything was warned of, else `ok`."""
    found = {finding.status for finding in findings}
    return "failed" if "failed" in found else "warning" if "warning" in found else "ok"


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class System:
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


def this_system(
    settings: Callable[[], Config],
    *,
    offline: bool,
    transport: "Transport | None" = None,
    box: "Callable[[], HubClient] | None" = None,
    script: Callable[[str], str] | None = None,
) -> System:
    """The system of this process; `settings` gives them, or raises why there are none.

    `offline` holds where they cannot be read. Raises StorageFailed without any home.
    """
    config, trouble = None, None
    try:
        config = settings()
    except PrimeError as error:
        trouble = error  # a check of its own
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    return System(
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
