"""Names for tab completion: `$PRIME_HOME/completion/KIND`, one name a line.

Shells read these files directly, so no Python starts. Names come from hubs, which may be hostile:
names a shell could act upon are not written, and the scripts ignore them.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import home_path, prime_home, write_atomically

Kind = Literal["environments", "evaluations", "models", "pods", "disks", "ssh-keys"]

MOST = 500
"""Names kept per kind, most recent first."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_MOST_BYTES = MOST * 201


def remember(kind: Kind, names: Iterable[str]) -> None:
    """Add `names` to those completed, the first as the newest.

    Writes only changes, and nothing where the home cannot be written: tab completion must never
    make a command fail.
    """
    _update(kind, lambda known: [*names, *known])


def replace(kind: Kind, names: Iterable[str]) -> None:
    """Complete exactly `names` from now on: the full list."""
    _update(kind, lambda _: [*names])


def note(kind: Kind, names: Iterable[str], *, are_all: bool) -> None:
    """Complete the `names` of a list: added to the known ones, or replacing them if it is whole."""
    (replace if are_all else remember)(kind, names)


def forget(kind: Kind, names: Iterable[str]) -> None:
    """Stop completing `names`, which were deleted."""
    gone = frozenset(names)
    _update(kind, lambda known: [name for name in known if name not in gone])


def _update(kind: Kind, change: Callable[[list[str]], list[str]]) -> None:
    try:
        file = _file(kind)
        known = _read(file)
        safe = (name for name in change(known) if _SAFE.fullmatch(name))
        wanted = list(dict.fromkeys(safe))[:MOST]
        if wanted != known:
            write_atomically(file, "".join(f"{name}\n" for name in wanted).encode("ascii"))
    except StorageFailed:
        # The home is missing, full or read-only: whatever needs to write to it reports that.
        return


def _file(kind: Kind) -> Path:
    return home_path(prime_home(), "completion") / kind


def _read(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES).decode("ascii", "replace")
    except OSError:
        return []
    return [name for name in text.splitlines() if _SAFE.fullmatch(name)]
