"""push.json: to which hubs a run was pushed, and how far."""

from pathlib import Path

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors, write_atomically

FILENAME = "push.json"
_SCHEMA = 1


class PushRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One push to one hub.

    `hub` is its base URL, `key` the name under which the evaluation is asked for, written down
    before that, so that a push that broke off in between asks for the same one. `content` stands
    for what the run held, `accepted` is how many of its samples, in their order, the hub has.
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
    """The push of the run in `folder` to `hub`; raises UsageError for a file that is none."""
    return next((record for record in _load(folder / FILENAME).pushes if record.hub == hub), None)


def save_record(folder: Path, record: PushRecord) -> None:
    """Write `record` in place of the one of the same hub; raises StorageFailed."""
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
            hint="remove it; on a hub of ours the push then still finds its evaluation",
        ) from error
