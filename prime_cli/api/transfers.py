"""Files to and from a hub, in blocks, with digests verified along the way."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from prime_cli.api.connection import HubConnection
from prime_cli.core.errors import IntegrityError, TooLarge
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress

_BLOCK = 1 << 16


def download(
    connection: HubConnection,
    url: str,
    target: Path,
    *,
    sha256: str | None,
    progress: Progress,
    most_bytes: int | None = None,
) -> str:
    """Stream `url` to `target`, which appears only when complete; returns its sha256.

    The key is sent only to the hub's own host. Raises IntegrityError if the bytes do not match the
    expected digest (hex) or length, TooLarge above `most_bytes`.
    """
    make_folder(target.parent)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with connection.open("GET", url) as response:
            found = _receive(response, part, target.name, progress, most_bytes)
        if sha256 is not None and found != sha256.lower():
            raise IntegrityError(
                f"{target.name} has sha256 {found}, not {sha256} as declared",
                hint="nothing was saved; its owner can publish a new version with "
                "`prime env upload --auto-bump`",
            )
        with storage_errors(target):
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return found


def upload(connection: HubConnection, url: str, path: Path, progress: Progress) -> None:
    """PUT the bytes of `path` to `url`, without the key: the URL is itself a capability."""
    with storage_errors(path):
        size = path.stat().st_size
    with (
        progress.task(f"Uploading {path.name}", total=size, unit="bytes") as task,
        connection.open(
            "PUT",
            url,
            content=_blocks_of(path, task.advance),
            headers={"content-type": "application/octet-stream", "content-length": str(size)},
            with_key=False,
        ) as response,
    ):
        response.read()


def _receive(
    response: httpx.Response, part: Path, name: str, progress: Progress, most_bytes: int | None
) -> str:
    """Write the body to `part`, synced; returns its sha256."""
    length = response.headers.get("content-length", "")
    expected = int(length) if length.isdigit() else None
    hasher = hashlib.sha256()
    received = 0
    with (
        progress.task(f"Downloading {name}", total=expected, unit="bytes") as task,
        storage_errors(part),
        part.open("wb") as file,
    ):
        # Raw: a wheel or archive is kept as stored, whatever its Content-Encoding claims.
        for block in response.iter_raw(_BLOCK):
            if most_bytes is not None and received + len(block) > most_bytes:
                raise TooLarge(f"{name} has more than {most_bytes} bytes")
            file.write(block)
            hasher.update(block)
            received += len(block)
            task.advance(len(block))
        file.flush()
        os.fsync(file.fileno())
    if expected is not None and received != expected:
        raise IntegrityError(f"{name} ended after {received} of {expected} bytes", hint="try again")
    return hasher.hexdigest()


def _blocks_of(path: Path, advance: Callable[[int], None]) -> Iterator[bytes]:
    with storage_errors(path), path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
            advance(len(block))
