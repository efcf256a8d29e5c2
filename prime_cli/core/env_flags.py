"""Environment variables that are on or off, as other tools read them."""

import os
from collections.abc import Mapping

_OFF = frozenset({"", "0", "false", "no", "off"})


def is_on(name: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the variable `name` is set to anything but a word for no."""
    return environ.get(name, "").strip().lower() not in _OFF


def in_ci(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this is an unattended job, even if it has a terminal."""
    return is_on("CI", environ)
