"""A whole hub in one file, written while it serves.

The file is a tar without compression (its blobs are compressed already):

    hub.json                the BackupManifest
    tables/<name>.jsonl     one row a line, a JSON array in the order of `BackupManifest.columns`,
                            bytes in base64
    blobs/<sha256>          every blob that a row names

The rows are those of one moment, and the blobs are held until they are copied. Rows say nothing
of SQLite or PostgreSQL, so that a backup of one may be restored into the other.
"""

import tarfile
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

import msgspec
from sqlalchemy import Connection, Table, select

from prime_cli import __version__
from prime_cli.core.errors import IntegrityError
from prime_cli.core.paths import replacing, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import (
    SCHEMA,
    artifacts,
    browser_sessions,
    counters,
    errands,
    holders,
    listed,
    metadata,
    tallies,
)
from prime_cli.hub.services.artifacts import hold_blobs, release_blobs
from prime_cli.wire.codec import encode

MANIFEST = "hub.json"
FORMAT = 1

_ROWS_AT_ONCE = 1000
_HOLD_AGAIN_SECONDS = 600


class BackupManifest(msgspec.Struct):
    """What is in a backup: `columns` of every table, and how many `rows` of it and `blobs`."""

    format: int
    schema: int
    prime: str
    made_at: str
    columns: dict[str, list[str]]
    rows: dict[str, int]
    blobs: int


def tables_in_order() -> list[Table]:
    """The tables of a backup, each after those it refers to.

    Counters restart, the tables for lists and search are rebuilt, and browsers sign in again.
    """
    omitted = (browser_sessions, counters, listed, tallies, holders, errands)
    return [table for table in metadata.sorted_tables if table not in omitted]


def write_backup(hub: Hub, target: Path, progress: Progress) -> BackupManifest:
    """Write the backup file `target`; raises StorageFailed, IntegrityError for a missing blob."""
    hold_blobs(hub)
    try:
        with replacing(target) as file, tarfile.open(fileobj=file, mode="w|") as tar:
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".backup-") as folder:
                manifest, digests = _dump(hub, Path(folder), progress)
                _add(tar, MANIFEST, BytesIO(encode(manifest)), len(encode(manifest)))
                for table in manifest.rows:
                    path = Path(folder) / table
                    with path.open("rb") as rows:
                        _add(tar, f"tables/{table}.jsonl", rows, path.stat().st_size)
            _add_blobs(hub, tar, digests, progress)
        return manifest
    finally:
        release_blobs(hub)


def _dump(hub: Hub, folder: Path, progress: Progress) -> tuple[BackupManifest, list[str]]:
    """Write every table to a file of its name; returns the manifest and all blobs' digests."""
    rows: dict[str, int] = {}
    tables = tables_in_order()
    with (
        hub.database.read() as connection,
        progress.task("Copying tables", total=len(tables), unit="tables") as task,
    ):
        for table in tables:
            path = folder / table.name
            with storage_errors(path), path.open("wb") as file:
                rows[str(table.name)] = 0
                for line in _lines(connection, table):
                    file.write(line)
                    rows[str(table.name)] += 1
            task.advance()
        received = artifacts.c.received_at.is_not(None)
        digests = select(artifacts.c.sha256).where(received).distinct()
        named = sorted(connection.execute(digests).scalars())
    columns = {str(table.name): [str(column.name) for column in table.c] for table in tables}
    return BackupManifest(FORMAT, SCHEMA, __version__, hub.now(), columns, rows, len(named)), named


def _lines(connection: Connection, table: Table) -> Iterator[bytes]:
    query = select(table).order_by(*table.primary_key)
    query = query.execution_options(yield_per=_ROWS_AT_ONCE)
    for row in connection.execute(query):
        yield encode(list(row)) + b"\n"


def _add_blobs(hub: Hub, tar: tarfile.TarFile, digests: list[str], progress: Progress) -> None:
    held = time.monotonic()
    with progress.task("Copying blobs", total=len(digests), unit="files") as task:
        for digest in digests:
            if time.monotonic() - held > _HOLD_AGAIN_SECONDS:
                hold_blobs(hub)
                held = time.monotonic()
            _add_blob(hub, tar, digest)
            task.advance()


def _add_blob(hub: Hub, tar: tarfile.TarFile, digest: str) -> None:
    size = hub.storage.size(digest)
    if size is None:
        raise IntegrityError(
            f"The hub has lost the blob with SHA-256 {digest}",
            hint="publish that version again or delete it, then repeat the backup",
        )
    with hub.storage.open(digest) as blob:
        _add(tar, f"blobs/{digest}", blob, size)


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o600
    tar.addfile(member, content)
