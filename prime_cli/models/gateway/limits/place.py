"""Where the processes of this machine share what they know of endpoints."""

from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import prime_home
from prime_cli.models.gateway.limits.shared import can_share


def limits_folder() -> Path | None:
    """`limits` in PRIME_HOME; None where it cannot be written, and nothing is shared."""
    try:
        folder = prime_home() / "limits"
    except StorageFailed:
        return None
    return folder if can_share(folder) else None


def limits_words(folder: Path | None) -> str:
    """Whether limits are shared, for `--verbose`."""
    if folder is None:
        return "of this process alone: PRIME_HOME cannot be written"
    return f"shared with other runs in {folder}"
