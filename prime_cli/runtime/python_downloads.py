"""Fetching a Python, which is done only when none at hand fits."""

import os

from prime_cli.core.progress import Progress
from prime_cli.runtime.uv_tool import run_uv

_FORBIDDEN = ("never", "manual")


def download_python(requires: str, progress: Progress) -> bool:
    """Let uv fetch the newest Python inside the specifier `requires`; says so first.

    False when that failed, or when the user's `UV_PYTHON_DOWNLOADS` forbids it.
    """
    if os.environ.get("UV_PYTHON_DOWNLOADS") in _FORBIDDEN:
        return False
    progress.say(f"No Python at hand fits {requires}, so uv fetches one")
    return run_uv(["python", "install", "--quiet", requires], download_python=True).ok
