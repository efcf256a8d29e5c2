"""How many processes of a rollout fit into this machine's memory."""

import os

MB_PER_PROCESS = 60  # upstream's chat program on Python 3.11: about 50
SHARE = 0.6


def processes_that_fit(wanted: int, free: int | None) -> int:
    """`wanted`, or fewer: as many as 60 % of `free` MB hold (None: unknown), but at least 1."""
    if free is None:
        return max(1, min(wanted, 4 * (os.cpu_count() or 1)))
    return max(1, min(wanted, int(free * SHARE / MB_PER_PROCESS)))


def free_mb() -> int | None:
    """Memory that is free now, or None where nobody tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        return None
