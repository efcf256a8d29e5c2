"""Disk space, encodings and the sandbox of this machine."""

import locale
import os
import shutil
import sys
import tempfile
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.doctor.base import Finding, System, failed, ok, skipped, warned
from prime_cli.runtime.sandbox import find_sandbox

_DISK = "disk"

LITTLE = 2_000_000_000

"""What one environment with its packages may take, of which some bring numeric libraries."""

TOO_LITTLE = 200_000_000


def check_disk(system: System) -> list[Finding]:
    """One finding for each of home, this folder and the temporary folder that is not well.

    Places on one disk are told once.
    """
    places = {"home": system.home, "here": system.here, "tmp": Path(tempfile.gettempdir())}
    disks: dict[int, list[str]] = {}
    found: list[Finding] = []
    for word, path in places.items():
        there = _existing(path)
        if not os.access(there, os.W_OK):
            found.append(failed(_DISK, f"{there} ({word}) cannot be written", _elsewhere(word)))
        disks.setdefault(there.stat().st_dev, []).append(word)
    for words in disks.values():
        there = _existing(places[words[0]])
        found.append(judge_disk(words, there, shutil.disk_usage(there).free))
    return found


def judge_disk(words: list[str], path: Path, free: int) -> Finding:
    """What `free` bytes on the disk of `path` are good for."""
    sentence = f"{format_bytes(free)} free on the disk of {path} ({', '.join(words)})"
    if free < TOO_LITTLE:
        return failed(_DISK, sentence, f"free some space, or {_elsewhere(words[0])}")
    if free < LITTLE:
        return warned(_DISK, sentence, "`uv cache prune` frees what nothing uses any more")
    return ok(_DISK, sentence)


def _existing(path: Path) -> Path:
    """`path`, or the nearest folder above that is there, which it would be made in."""
    return next((each for each in (path, *path.parents) if each.exists()), Path(path.anchor))


def _elsewhere(word: str) -> str:
    return {
        "home": "set PRIME_HOME to a folder on another disk",
        "tmp": "set TMPDIR to a folder on another disk",
    }.get(word, "work in a folder on another disk")


_ENCODING = "encoding"


def check_encoding(system: System) -> list[Finding]:
    """A warning where something cannot hold every character, which is then shown as `?`."""
    known = {
        **system.encodings,
        "file names": sys.getfilesystemencoding(),
        "files of other programs": locale.getpreferredencoding(do_setlocale=False),
    }
    narrow = {what: name for what, name in known.items() if not is_unicode(name)}
    if not narrow:
        return [ok(_ENCODING, "UTF-8 everywhere")]
    told = ", ".join(f"{what}: {name}" for what, name in narrow.items())
    sentence = f"Not every character can be written ({told})"
    step = "`set PYTHONUTF8=1`" if sys.platform == "win32" else "`export PYTHONUTF8=1`"
    return [warned(_ENCODING, sentence, f"{step}, or choose a UTF-8 locale")]


def is_unicode(name: str) -> bool:
    """Whether the encoding holds every character."""
    return name.lower().replace("_", "-").startswith("utf")


_SANDBOX = "sandbox"


def check_sandbox(_place: System) -> list[Finding]:
    """Tried, not guessed: a program is run within. A warning, since `--sandbox` alone needs it."""
    if sys.platform != "linux":
        return [skipped(_SANDBOX, "`--sandbox` exists for Linux alone")]
    try:
        found = find_sandbox(Path(tempfile.gettempdir()), network=False)
    except UsageError as error:
        return [warned(_SANDBOX, error.message, error.hint or "install bubblewrap")]
    return [ok(_SANDBOX, f"{found.program} works")]
