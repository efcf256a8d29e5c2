"""What earlier sessions left in a run's folder, read by the one that goes on."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.models.prices import Charges
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.journal import read_journal
from prime_cli.runs.manifest import (
    RUNNING,
    STOPPED,
    InterpreterFacts,
    Manifest,
    RunSession,
    load_manifest,
)
from prime_cli.runs.spending import Spending, read_charges
from prime_cli.runs.tally import Tally
from prime_cli.runtime.locks import lock_digest
from prime_cli.wire.codec import decode
from prime_cli.wire.locks import Lock


@dataclass(frozen=True)
class Earlier:
    """The scores so far and what they cost; no manifest where this is the first session.

    The session that goes on adds its own scores to `tally`.
    """

    manifest: Manifest | None = None
    tally: Tally = field(default_factory=Tally)
    spent: Charges = field(default_factory=dict)


def read_earlier(folder: RunFolder) -> Earlier:
    """What is in `folder`, which this process alone may write; raises UsageError, StorageFailed.

    What processes that were killed left half written is removed.
    """
    with storage_errors(folder.path):
        for unfinished in folder.path.glob(".*.tmp"):
            unfinished.unlink()
    manifest = load_manifest(folder.manifest)
    tally, spending = Tally(), Spending(manifest.plan.model, read_charges(manifest.unjournaled))
    for row in read_journal(folder.journal):
        tally.add(row)
        spending.add_row(row)
    return Earlier(_closed(manifest, folder), tally, spending.charges())


def _closed(manifest: Manifest, folder: RunFolder) -> Manifest:
    """`manifest` with an end for the session that did not come to write one."""
    sessions = manifest.sessions or (RunSession(started=manifest.started, status=manifest.status),)
    last = sessions[-1]
    if last.status == RUNNING:
        last = _stopped(last, folder)
    status = STOPPED if manifest.status == RUNNING else manifest.status
    return msgspec.structs.replace(manifest, status=status, sessions=(*sessions[:-1], last))


def _stopped(session: RunSession, folder: RunFolder) -> RunSession:
    with storage_errors(folder.path):
        exists = folder.journal.exists()
        moment = (folder.journal if exists else folder.manifest).stat().st_mtime
    ended = datetime.fromtimestamp(moment, UTC)
    seconds = (ended - datetime.fromisoformat(session.started)).total_seconds()
    return msgspec.structs.replace(
        session,
        status=STOPPED,
        ended=ended.isoformat(timespec="seconds"),
        seconds=round(max(seconds, 0.0), 3),
    )


def saved_lock(folder: RunFolder, facts: InterpreterFacts | None) -> Lock | None:
    """What `lock.json` of a run holds, if it is what the run was made with."""
    with storage_errors(folder.packages):
        if facts is None or facts.lock_digest is None or not folder.packages.is_file():
            return None
        content = folder.packages.read_bytes()
    try:
        lock = decode(content, Lock)
    except UsageError:
        return None  # found nowhere else either, it counts as lost, which is told
    return lock if lock_digest(lock) == facts.lock_digest else None
