"""Fill an empty hub from a backup; see `backup` for the format.

Nothing in the file is trusted: names and digests of members, tables and columns are checked, and
the rows come in one transaction, so a hub is restored whole or stays empty.
"""

import base64
import binascii
import os
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, update

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import Conflict, IntegrityError, NotFound, PrimeError, UsageError
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import SCHEMA, artifacts, disks, environments, owners, pods
from prime_cli.hub.maintenance.backup import FORMAT, MANIFEST, BackupManifest, tables_in_order
from prime_cli.hub.search_index import reindex_all
from prime_cli.hub.services.audit import raise_serial
from prime_cli.wire.codec import decode

_BLOB = re.compile(r"blobs/([0-9a-f]{64})")
_TABLE = re.compile(r"tables/([a-z_]+)\.jsonl")
_LARGEST_MANIFEST = 1024 * 1024
_BLOCK = 1024 * 1024
_ROWS_AT_ONCE = 1000


def read_backup(hub: Hub, source: Path, progress: Progress) -> BackupManifest:
    """Restore the backup file `source` into an empty hub.

    Raises Conflict if it is not empty, IntegrityError if the file is damaged or from another
    schema, NotFound, StorageFailed.
    """
    if not source.is_file():
        raise NotFound(
            f"There is no file {source}", hint="pass a file that `prime hub backup` has written"
        )
    _require_empty(hub)
    with storage_errors(source), _opened(source) as tar:
        members = iter(tar)
        manifest = _read_manifest(tar, next(members, None))
        with hub.database.occupy() as connection:
            _require_none(connection)
            tables = tables_in_order()
            with progress.task("Restoring tables", total=len(tables), unit="tables") as task:
                for table in tables:
                    _restore_table(connection, table, manifest, tar, next(members, None))
                    task.advance()
            digests = set(connection.execute(select(artifacts.c.sha256)).scalars())
            _restore_blobs(hub, tar, members, manifest, digests, progress)
            connection.execute(update(environments).values(index_stale=True))
            reindex_all(connection)
            # Whose providers know them is found out.
            for table in (pods, disks):
                connection.execute(update(table).values(holder=None))
            raise_serial(connection)
    return manifest


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(source, mode="r|") as tar:
            yield tar
    except (tarfile.TarError, EOFError, UsageError) as error:
        raise _damaged(source.name) from error


def _damaged(what: str) -> PrimeError:
    return IntegrityError(f"`{what}` is not a backup of a hub, or is damaged")


def _require_empty(hub: Hub) -> None:
    with hub.database.read() as connection:
        _require_none(connection)


def _require_none(connection: Connection) -> None:
    if connection.execute(select(func.count()).select_from(owners)).scalar_one():
        raise Conflict(
            "The target hub already has users; a restore needs an empty hub",
            hint="use an empty folder with `--data`, or an empty database",
        )


def _read_manifest(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> BackupManifest:
    if member is None or member.name != MANIFEST or member.size > _LARGEST_MANIFEST:
        raise _damaged(MANIFEST)
    manifest = decode(_content(tar, member).read(), BackupManifest)
    if manifest.format != FORMAT or manifest.schema != SCHEMA:
        raise IntegrityError(
            f"The backup is of schema {manifest.schema}, and this prime has schema {SCHEMA}",
            hint=f"restore it with prime {manifest.prime}, then run `prime hub migrate`",
        )
    return manifest


def _restore_table(
    connection: Connection,
    table: Table,
    manifest: BackupManifest,
    tar: tarfile.TarFile,
    member: tarfile.TarInfo | None,
) -> None:
    found = _TABLE.fullmatch(member.name) if member else None
    if member is None or found is None or found[1] != table.name:
        raise _damaged(f"tables/{table.name}.jsonl")
    count = 0
    rows = _rows(table, manifest.columns.get(table.name, []), _content(tar, member))
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        connection.execute(insert(table), batch)
        count += len(batch)
    if count != manifest.rows.get(table.name):
        raise _damaged(member.name)


def _rows(table: Table, columns: list[str], lines: IO[bytes]) -> Iterator[dict[str, Any]]:
    if set(columns) != set(table.c.keys()):
        raise _damaged(f"the columns of {table.name}")
    # The database numbers these rows itself, and would continue its own sequence.
    numbered = table.autoincrement_column
    binary = [column.name for column in table.c if isinstance(column.type, LargeBinary)]
    for line in lines:
        values = decode(line, list[Any])
        if len(values) != len(columns):
            raise _damaged(f"a row of {table.name}")
        row = dict(zip(columns, values, strict=True))
        if numbered is not None:
            del row[numbered.name]
        for name in binary:
            row[name] = _bytes(row[name], table)
        yield row


def _bytes(text: str | None, table: Table) -> bytes | None:
    """Bytes stored as base64 in JSON."""
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise _damaged(f"a row of {table.name}") from error


def _restore_blobs(
    hub: Hub,
    tar: tarfile.TarFile,
    members: Iterator[tarfile.TarInfo],
    manifest: BackupManifest,
    named: set[str],
    progress: Progress,
) -> None:
    count = 0
    with progress.task("Restoring blobs", total=manifest.blobs, unit="files") as task:
        for member in members:
            found = _BLOB.fullmatch(member.name)
            if found is None or found[1] not in named:
                raise _damaged(member.name)
            _restore_blob(hub, _content(tar, member), found[1])
            count += 1
            task.advance()
    if count != manifest.blobs:
        raise _damaged("blobs")


def _restore_blob(hub: Hub, content: IO[bytes], digest: str) -> None:
    folder = make_folder(hub.settings.data / "incoming")
    with storage_errors(folder):
        descriptor, name = tempfile.mkstemp(prefix="restore.", dir=folder)
        path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                while block := content.read(_BLOCK):
                    file.write(block)
            if digest_file(path) != digest:
                raise IntegrityError(f"The blob {digest} of the backup is damaged")
            hub.storage.put(path, digest)
        finally:
            path.unlink(missing_ok=True)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member) if member.isfile() else None
    if file is None:
        raise _damaged(member.name)
    return file
