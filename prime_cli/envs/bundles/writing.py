"""Write a bundle: the same members give the same bytes, on every machine."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from prime_cli.archive.epoch import DEFAULT_EPOCH, zip_time
from prime_cli.core.digests import digest_bytes, digest_file
from prime_cli.core.errors import IntegrityError
from prime_cli.core.paths import replacing, storage_errors
from prime_cli.core.progress import Progress, Task
from prime_cli.envs.bundles.manifest import NAME, Manifest, Member, encode_manifest

_BLOCK = 1 << 20
_MODE = 0o100644

Content = bytes | Path
"""What a member holds: these bytes, or those of a file."""


def describe(path: str, content: Content) -> Member:
    """The manifest's line for a member; raises StorageFailed."""
    if isinstance(content, bytes):
        return Member(path, len(content), digest_bytes(content))
    with storage_errors(content):
        return Member(path, content.stat().st_size, digest_file(content))


def write_bundle(
    target: Path, manifest: Manifest, contents: Mapping[str, Content], progress: Progress
) -> None:
    """Write `manifest` and the members that it names to `target`, which appears when it is whole.

    A zip file whose members are stored: nothing in it is compressed twice, no version of zlib
    changes its bytes, and it cannot unpack to more than it is. Raises StorageFailed, IntegrityError
    where a file has changed meanwhile.
    """
    with (
        progress.task(f"Writing {target.name}", total=manifest.size, unit="bytes") as task,
        replacing(target, mode=0o644) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        head = encode_manifest(manifest)
        archive.writestr(_header(NAME, len(head)), head)
        for member in manifest.members:
            _write(archive, member, contents[member.path], task)


def _write(archive: zipfile.ZipFile, member: Member, content: Content, task: Task) -> None:
    header = _header(member.path, member.size)
    if isinstance(content, bytes):
        archive.writestr(header, content)
        task.advance(len(content))
        return
    hasher = hashlib.sha256()
    with (
        storage_errors(content),
        content.open("rb") as source,
        archive.open(header, "w") as packed,
    ):
        while block := source.read(_BLOCK):
            packed.write(block)
            hasher.update(block)
            task.advance(len(block))
    if hasher.hexdigest() != member.sha256:
        raise IntegrityError(f"{content} changed while it was read", hint="try again")


def _header(name: str, size: int) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(name, date_time=zip_time(DEFAULT_EPOCH))
    header.compress_type = zipfile.ZIP_STORED
    header.create_system = 3  # Unix, also when written on Windows
    header.external_attr = _MODE << 16
    header.file_size = size  # says whether zip64 is needed
    return header
