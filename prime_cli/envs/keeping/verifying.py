"""Is what is kept still what it was? Digests are computed anew, and interpreters started."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import PrimeError
from prime_cli.core.process import TimedOut, child_environment, run
from prime_cli.core.progress import Progress
from prime_cli.envs.bundles.kept import MANIFEST
from prime_cli.envs.bundles.manifest import decode_manifest
from prime_cli.envs.keeping.entries import Entry, Kind
from prime_cli.envs.records import Record
from prime_cli.runtime.layers import below_of, is_ready
from prime_cli.runtime.pythons import executable_in
from prime_cli.wire.locks import Lock

_START_SECONDS = 60


@dataclass(frozen=True)
class Broken:
    """An entry that cannot be used, and why."""

    entry: Entry
    why: str


def verify(entries: Iterable[Entry], progress: Progress) -> tuple[int, list[Broken]]:
    """How many entries were looked at, and those that are broken; changes nothing.

    Kinds that cannot be checked (data, leftovers) are not counted.
    """
    todo = [entry for entry in entries if entry.kind in _CHECKS]
    broken = []
    with progress.task("Verifying", total=len(todo)) as task:
        for entry in todo:
            why = _look(entry)
            if why is not None:
                broken.append(Broken(entry, why))
            task.advance()
    return len(todo), broken


def _look(entry: Entry) -> str | None:
    try:
        return _CHECKS[entry.kind](entry.path)
    except PrimeError as error:
        return error.message
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"


def _wheel(folder: Path) -> str | None:
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        return "there is no wheel in it"
    wrong = next((wheel for wheel in wheels if digest_file(wheel) != folder.name), None)
    return f"{wrong.name} has another sha256" if wrong else None


def _interpreter(folder: Path) -> str | None:
    if folder.name.startswith("."):
        return "it was never finished"
    if not is_ready(folder):
        return "the Python that it was made with is gone, or it was never finished"
    below = below_of(folder)
    if below is not None and not is_ready(below):
        return f"the packages below it, {below.name}, are gone"
    command = [str(executable_in(folder)), "-I", "-c", "import sys"]
    try:
        ended = run(command, timeout=_START_SECONDS, env=child_environment())
    except TimedOut:
        return f"it does not start within {_START_SECONDS} s"
    return None if ended.ok else f"it does not start: {ended.last_lines(1)}"


def _bundle(folder: Path) -> str | None:
    if folder.name.startswith("."):
        return "it was never finished"
    manifest = decode_manifest((folder / MANIFEST).read_bytes())
    for member in manifest.members:
        if member.path.startswith("data/"):
            continue
        path = folder / member.path
        if not path.is_file() or digest_file(path) != member.sha256:
            return f"{member.path} is missing or has another sha256"
    return None


def _json(kind: object) -> Callable[[Path], str | None]:
    def check(path: Path) -> str | None:
        try:
            msgspec.json.decode(path.read_bytes(), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return f"it cannot be read: {error}"
        return None

    return check


_CHECKS: dict[Kind, Callable[[Path], str | None]] = {
    Kind.INTERPRETERS: _interpreter,
    Kind.WHEELS: _wheel,
    Kind.LOCKS: _json(Lock),
    Kind.BUNDLES: _bundle,
    Kind.RECORDS: _json(Record),
    Kind.RESPONSES: _json(dict),
}
