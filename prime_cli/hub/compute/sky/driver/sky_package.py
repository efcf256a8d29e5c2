"""SkyPilot as installed for this interpreter; part of `run`, see there."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import Any

OLDEST = (0, 14)


class Refused(Exception):
    """A failure to report in one sentence."""


def load() -> tuple[Any, Any]:
    """SkyPilot and its client; its first call starts a server on this machine."""
    version = _version()
    if version is None:
        raise Refused(f"{sys.executable} has no SkyPilot")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise Refused(f"SkyPilot {version} is too old: 0.14.1 is what was tried")
    return importlib.import_module("sky"), importlib.import_module("sky.client.sdk")


def _version() -> str | None:
    for name in ("skypilot", "skypilot-nightly"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
