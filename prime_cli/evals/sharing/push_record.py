"""push.json: to which hubs a run was pushed, how far, and in which state."""

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.runs.saved_run import SavedRun

_KEY = "prime-run-"


def content_of(run: SavedRun, trust: Iterable[str] = ()) -> str:
    """A digest of a run's state: of its small files, the sizes of large ones, and `trust`."""
    folder = run.folder
    if run.manifest is not None:
        facts = _facts([folder.manifest, folder.receipt], [folder.journal])
        return _digest([*facts, *trust])
    return _digest(_facts([folder.metadata], [folder.results, folder.traces]))


def key_of(run: SavedRun, *, anew: bool) -> str:
    """The key of a run's evaluation, which copies of the run share.

    `anew` returns an unused one.
    """
    if anew:
        return _KEY + secrets.token_hex(16)
    if run.manifest is None:
        return _KEY + _digest([run.folder.run_id, content_of(run)])
    plan = run.manifest.plan
    return _KEY + _digest(
        [run.manifest.run_id, run.manifest.started, plan.environment.sha256, plan.model]
    )


def _facts(read: Iterable[Path], measured: Iterable[Path]) -> Iterable[str]:
    for path in read:
        if path.exists():
            with storage_errors(path):
                yield f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    for path in measured:
        if path.exists():
            with storage_errors(path):
                yield f"{path.name} {path.stat().st_size}"


def _digest(facts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]


FILENAME = "push.json"
_SCHEMA = 1


class PushRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One push to one hub.

    `hub` is its base URL, `key` the evaluation's key, recorded before it is created, so that a push
    that is interrupted in between asks for the same one. `content` is the digest of the run,
    `accepted` the number of its samples, in order, that the hub has.
    """

    hub: str
    key: str
    content: str
    evaluation_id: str | None = None
    viewer_url: str | None = None
    accepted: int = 0
    finished: bool = False


class _Records(msgspec.Struct, frozen=True):
    schema: int = _SCHEMA
    pushes: tuple[PushRecord, ...] = ()


def load_record(folder: Path, hub: str) -> PushRecord | None:
    """The push of the run in `folder` to `hub`; raises UsageError for an invalid file."""
    return next((record for record in _load(folder / FILENAME).pushes if record.hub == hub), None)


def save_record(folder: Path, record: PushRecord) -> None:
    """Replace the record of the same hub; raises StorageFailed."""
    path = folder / FILENAME
    others = tuple(each for each in _load(path).pushes if each.hub != record.hub)
    content = msgspec.json.encode(_Records(pushes=(*others, record)))
    write_atomically(path, msgspec.json.format(content, indent=2) + b"\n", mode=0o644)


def _load(path: Path) -> _Records:
    if not path.exists():
        return _Records()
    with storage_errors(path):
        content = path.read_bytes()
    try:
        return msgspec.json.decode(content, type=_Records)
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{path} is not a record of pushes: {error}",
            hint="delete it; the push can still find its evaluation, except on the public hub",
        ) from error
