"""Whether there is room, and leave to write, where prime writes."""

import os
import shutil
import tempfile
from pathlib import Path

from prime_cli.checks.findings import Finding, failed, ok, warned
from prime_cli.checks.place import Place
from prime_cli.core.formatting import format_bytes

NAME = "disk"
LITTLE = 2_000_000_000
"""What one environment with its packages may take, of which some bring numeric libraries."""
TOO_LITTLE = 200_000_000


def examine(place: Place) -> list[Finding]:
    """One finding for each of home, this folder and the temporary folder that is not well.

    Places on one disk are told once.
    """
    places = {"home": place.home, "here": place.here, "tmp": Path(tempfile.gettempdir())}
    disks: dict[int, list[str]] = {}
    found: list[Finding] = []
    for word, path in places.items():
        there = _existing(path)
        if not os.access(there, os.W_OK):
            found.append(failed(NAME, f"{there} ({word}) cannot be written", _elsewhere(word)))
        disks.setdefault(there.stat().st_dev, []).append(word)
    for words in disks.values():
        there = _existing(places[words[0]])
        found.append(judge(words, there, shutil.disk_usage(there).free))
    return found


def judge(words: list[str], path: Path, free: int) -> Finding:
    """What `free` bytes on the disk of `path` are good for."""
    sentence = f"{format_bytes(free)} free on the disk of {path} ({', '.join(words)})"
    if free < TOO_LITTLE:
        return failed(NAME, sentence, f"free some space, or {_elsewhere(words[0])}")
    if free < LITTLE:
        return warned(NAME, sentence, "`uv cache prune` frees what nothing uses any more")
    return ok(NAME, sentence)


def _existing(path: Path) -> Path:
    """`path`, or the nearest folder above that is there, which it would be made in."""
    return next((each for each in (path, *path.parents) if each.exists()), Path(path.anchor))


def _elsewhere(word: str) -> str:
    return {
        "home": "set PRIME_HOME to a folder on another disk",
        "tmp": "set TMPDIR to a folder on another disk",
    }.get(word, "work in a folder on another disk")
