"""Checkpoints that are whole or not there: written aside, synced, then renamed."""

import os
import shutil
from pathlib import Path


def make_empty(aside: Path) -> None:
    """Make an empty folder to write a checkpoint into."""
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)


def publish(written: Path, place: Path) -> None:
    """Make what was `written` appear at `place`, all of it at once."""
    for path in [*written.rglob("*"), written]:
        _sync(path)
    if place.exists():
        shutil.rmtree(place)
    written.rename(place)
    _sync(place.parent)


def remove_old(folder: Path, keep: int, best: int | None = None) -> None:
    """Keep the last `keep` checkpoints and that of step `best`, and nothing half written."""
    for path in folder.glob(".tmp-*"):
        shutil.rmtree(path, ignore_errors=True)
    steps = sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
    for step in {*steps[:-keep]} - {best}:
        shutil.rmtree(folder / str(step), ignore_errors=True)


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
