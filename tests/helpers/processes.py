"""Whether processes that a test knows by their number still run."""

from contextlib import suppress

import psutil


def is_running(pid: int) -> bool:
    """A zombie does not: it has ended, and its parent, or whoever has inherited it, may be slow."""
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False
