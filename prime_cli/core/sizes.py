"""Numbers of bytes, for people."""

_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


def shown_bytes(count: int) -> str:
    """`1.2 GB` for 1_234_567_890: decimal units (SI), as package indexes and disks count."""
    size = float(count)
    for unit in _UNITS[:-1]:
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} {_UNITS[-1]}"
