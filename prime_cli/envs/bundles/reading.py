"""Read a bundle that someone else made: nothing of it is believed before it was compared."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.archive.limits import MEBIBYTE, Limits
from prime_cli.archive.members import archive_errors, index_zip
from prime_cli.core.errors import IntegrityError, UnsafeContent
from prime_cli.core.paths import storage_errors
from prime_cli.core.progress import Progress, Task
from prime_cli.envs.bundles.manifest import NAME, Manifest, Member, decode_manifest

SUFFIX = ".bundle"
DATA = "data"
_OF_ENVIRONMENT = re.compile(r"environments/[0-9a-f]{64}/[^/]+")

_LIMITS = Limits(members=200_000, total_bytes=1 << 50, name_length=1_024)
"""Of names and their number; as nothing is compressed, the file bounds how much there is."""
_MOST_MANIFEST_BYTES = 64 * MEBIBYTE
_HEAD = 30
"""Bytes of a zip's local header before the name of its first member (APPNOTE.TXT, 4.3.7)."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class OpenBundle:
    """A bundle whose list of members was found to be that of its manifest."""

    manifest: Manifest
    archive: zipfile.ZipFile
    files: Mapping[str, zipfile.ZipInfo]

    def copy(self, member: Member, target: Path, task: Task | None = None) -> None:
        """Write a member to the new file `target`; raises IntegrityError, StorageFailed."""
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                for block in self.blocks(member):
                    file.write(block)
                    if task is not None:
                        task.advance(len(block))

    def blocks(self, member: Member) -> Iterator[bytes]:
        """A member's bytes; raises IntegrityError at their end, where they are not as promised."""
        hasher, left = hashlib.sha256(), member.size
        with archive_errors("The bundle"), self.archive.open(self.files[member.path]) as source:
            while block := source.read(_BLOCK):
                left -= len(block)
                hasher.update(block)
                yield block
        if left or hasher.hexdigest() != member.sha256:
            raise IntegrityError(
                f"{member.path} in the bundle is not what its {NAME} promises",
                hint="copy the file again from where it was made",
            )


def is_bundle(path: Path) -> bool:
    """Whether a file begins as a bundle does, or is called like one."""
    if not path.is_file():
        return False
    if path.suffix == SUFFIX:
        return True
    with storage_errors(path), path.open("rb") as file:
        head = file.read(_HEAD + len(NAME))
    return head.startswith(b"PK\x03\x04") and head.endswith(NAME.encode())


@contextmanager
def open_bundle(path: Path) -> Iterator[OpenBundle]:
    """Open a bundle; raises IntegrityError or UnsafeContent where it is none, StorageFailed."""
    with storage_errors(path):
        file = path.open("rb")
    with file:
        with archive_errors(path.name), storage_errors(path):
            bundle = _read(zipfile.ZipFile(file), path)
        yield bundle


def read_manifest(path: Path) -> Manifest:
    """What a bundle says of itself; its members are not compared. Raises as `open_bundle`."""
    with open_bundle(path) as bundle:
        return bundle.manifest


def verify_bundle(path: Path, progress: Progress) -> Manifest:
    """Compare every member with its digest; raises as `open_bundle`, IntegrityError."""
    with open_bundle(path) as bundle:
        size = bundle.manifest.size
        with progress.task(f"Checking {path.name}", total=size, unit="bytes") as task:
            for member in bundle.manifest.members:
                for block in bundle.blocks(member):
                    task.advance(len(block))
        return bundle.manifest


def _read(archive: zipfile.ZipFile, path: Path) -> OpenBundle:
    files = index_zip(archive, limits=_LIMITS)
    head = files.pop(NAME, None)
    if head is None:
        raise IntegrityError(
            f"{path} is not a bundle: it has no {NAME}", hint="make one with `prime env bundle`"
        )
    stored = sum(info.compress_size for info in files.values())
    if any(info.compress_type != zipfile.ZIP_STORED for info in (head, *files.values())):
        raise UnsafeContent(f"{path} holds compressed members, which no bundle has")
    if head.file_size > _MOST_MANIFEST_BYTES or stored > path.stat().st_size:
        raise UnsafeContent(f"{path} claims to hold more than it can")
    manifest = decode_manifest(archive.read(head))
    told = {member.path: member.size for member in manifest.members}
    if told != {name: info.file_size for name, info in files.items()}:
        odd = sorted(told.keys() ^ files.keys()) or sorted(told)
        raise IntegrityError(f"{path} and its {NAME} do not agree about {odd[0][:120]}")
    for member in manifest.members:
        if not is_data(member):
            _check_part(member)
    return OpenBundle(manifest, archive, files)


def is_data(member: Member) -> bool:
    """Whether a member is of the data that goes along."""
    return member.path.startswith(f"{DATA}/")


def _check_part(member: Member) -> None:
    folder, _, name = member.path.partition("/")
    if folder == "wheels":
        try:
            parse_wheel_filename(name)
        except InvalidWheelFilename as error:
            raise UnsafeContent(f"{member.path[:120]} in the bundle is no wheel") from error
    elif not _OF_ENVIRONMENT.fullmatch(member.path):
        raise UnsafeContent(f"{member.path[:120]} has no place in a bundle")
