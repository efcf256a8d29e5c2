"""Opening a page in the browser of whoever sits at this machine; nowhere else."""

import os
import sys
from collections.abc import Mapping

from prime_cli.core.process import leave_running
from prime_cli.core.switches import in_ci

_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def has_desktop(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Whether a browser would open in front of somebody: not in CI, over SSH, or on a server."""
    if in_ci(environ):
        return False
    if any(environ.get(name) for name in _REMOTE):
        return False
    return platform in ("win32", "darwin") or any(environ.get(name) for name in _SCREENS)


def open_page(url: str) -> bool:
    """Open an http or https `url`; False where no browser could even be asked.

    By a Python of its own, because browsers write to the terminal that they are started from.
    `-I` keeps a `webbrowser.py` in the current folder out of it.
    """
    if not url.startswith(("http://", "https://")):
        return False
    return leave_running([sys.executable, "-I", "-m", "webbrowser", url])
