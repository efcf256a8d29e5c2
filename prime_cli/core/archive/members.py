"""Read an untrusted tar.gz or zip: its members one by one and within limits, or all of it."""

import calendar
import gzip
import io
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from msgspec import Struct

from prime_cli.core.archive.limits import (
    DEFAULT_LIMITS,
    MEBIBYTE,
    ArchiveLimits,
    folded,
    is_windows_name,
    safe_name,
)
from prime_cli.core.errors import IntegrityError, NotFound, UnsafeContent
from prime_cli.core.paths import make_folder, storage_errors

_HEADER_BYTES = MEBIBYTE
"""Maximum size of the tar headers (long names, PAX records) of one member."""

_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The zip methods that the standard library decompresses in bounded steps; wheels use no others."""
_BLOCK = 1 << 20


class ArchiveMember(Struct, frozen=True):
    """A plain file in an archive: POSIX relative path, size in bytes, time in epoch seconds."""

    path: str
    size: int
    modified: int
    executable: bool = False


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than `ceiling` bytes, which may be changed."""

    def __init__(self, stream: gzip.GzipFile, ceiling: int) -> None:
        self._stream = stream
        self.given = 0
        self.ceiling = ceiling

    def read(self, size: int = -1) -> bytes:
        left = self.ceiling - self.given
        block = self._stream.read(left + 1 if size < 0 else min(size, left + 1))
        self.given += len(block)
        if self.given > self.ceiling:
            raise UnsafeContent("The archive unpacks to far more than its members declare")
        return block


def read_members(
    file: BinaryIO, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> Iterator[tuple[ArchiveMember, IO[bytes]]]:
    """Each plain file with a stream of its content, valid until the next one.

    `file` is read from its start. Folders are skipped. Raises UnsafeContent on links, devices,
    unsafe or repeated names and anything above `limits`; IntegrityError if the bytes are not a
    tar.gz or zip, or damaged.
    """
    file.seek(0)
    magic = file.read(4)
    file.seek(0)
    with archive_errors():
        if magic.startswith(b"\x1f\x8b"):
            yield from _read_tar(file, limits)
        elif magic.startswith(b"PK"):
            yield from _read_zip(file, limits)
        else:
            raise IntegrityError("The archive is neither a tar.gz nor a zip file")


@contextmanager
def archive_errors(name: str = "The archive") -> Iterator[None]:
    """Turn the standard library's errors on damaged archives into IntegrityError naming `name`."""
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise IntegrityError(f"{name} is damaged: {error}") from error
    except NotImplementedError as error:
        raise IntegrityError(f"{name} cannot be read: {error}") from error


def index_zip(
    archive: zipfile.ZipFile, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> dict[str, zipfile.ZipInfo]:
    """The plain files of a zip by safe path; raises UnsafeContent as `read_members` does.

    Nothing is decompressed: later reads of a member are bounded by the size added up here.
    """
    names = Names(limits)
    files = {}
    content = 0
    for info in archive.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise UnsafeContent(f"The archive member `{info.filename}` is a link or device")
        if info.flag_bits & _ENCRYPTED:
            raise UnsafeContent(f"The archive member `{info.filename}` is encrypted")
        if info.compress_type not in _METHODS:
            raise UnsafeContent(
                f"The archive member `{info.filename}` uses an unsupported compression"
            )
        folder = info.filename.endswith("/")  # `is_dir` fails on an empty name
        name = names.take(info.filename, folder=folder)
        content += info.file_size
        if not folder:
            files[name] = info
    limits.check_content(content, _size_of_zip(archive))
    return files


class Names:
    """The names seen so far in one archive; duplicates are refused.

    So are names that differ only in case or composition: most macOS and Windows machines treat them
    as one file, and the last one unpacked would replace the other.
    """

    def __init__(self, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._count = 0
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._spellings: dict[str, str] = {}

    def take(self, raw: str, *, folder: bool = False) -> str:
        """The safe path of one more member; raises UnsafeContent."""
        self._count += 1
        if self._count > self._limits.members:
            raise UnsafeContent(f"The archive has more than {self._limits.members} members")
        name = safe_name(raw, limits=self._limits)
        ancestors = {name[:at] for at, letter in enumerate(name) if letter == "/"}
        if folder:
            ancestors.add(name)
        elif not name or name in self._files or name in self._folders:
            raise UnsafeContent(f"The archive contains `{name}` twice")
        else:
            self._files.add(name)
        if not ancestors.isdisjoint(self._files):
            raise UnsafeContent(f"The archive uses a file as the folder of `{name}`")
        for path in (*sorted(ancestors - self._folders), name):
            self._require_one_spelling(path)
        self._folders |= ancestors
        return name

    def _require_one_spelling(self, path: str) -> None:
        known = self._spellings.setdefault(folded(path), path)
        if known != path:
            raise UnsafeContent(
                f"The archive contains both `{known}` and `{path}`, which are one file or folder "
                "where upper and lower case are the same"
            )


def _read_tar(file: BinaryIO, limits: ArchiveLimits) -> Iterator[tuple[ArchiveMember, IO[bytes]]]:
    compressed, unpacked = _size_of(file), 0
    names = Names(limits)
    with gzip.GzipFile(fileobj=file) as plain:
        bounded = _Bounded(plain, _HEADER_BYTES)
        with tarfile.open(fileobj=bounded, mode="r|", bufsize=tarfile.RECORDSIZE) as archive:
            while (info := archive.next()) is not None:
                if not (info.isreg() or info.isdir()) or info.issparse():
                    raise UnsafeContent(f"The archive member `{info.name}` is a link or device")
                name = names.take(info.name, folder=info.isdir())
                unpacked += info.size
                limits.check_content(unpacked, compressed)
                bounded.ceiling = bounded.given + info.size + _HEADER_BYTES
                content = archive.extractfile(info)
                if content is not None:
                    yield _tar_member(name, info), content
        bounded.ceiling = bounded.given + _HEADER_BYTES
        # A gzip stream's checksum is verified at its very end.
        while bounded.read(tarfile.RECORDSIZE):
            pass


def _tar_member(name: str, info: tarfile.TarInfo) -> ArchiveMember:
    return ArchiveMember(name, info.size, int(info.mtime), bool(info.mode & 0o100))


def _read_zip(file: BinaryIO, limits: ArchiveLimits) -> Iterator[tuple[ArchiveMember, IO[bytes]]]:
    with zipfile.ZipFile(file) as archive:
        for name, info in index_zip(archive, limits=limits).items():
            with archive.open(info) as content:
                yield _zip_member(name, info), content


def _zip_member(name: str, info: zipfile.ZipInfo) -> ArchiveMember:
    executable = bool((info.external_attr >> 16) & 0o100)
    return ArchiveMember(name, info.file_size, _zip_time(info), executable)


def _zip_time(info: zipfile.ZipInfo) -> int:
    return calendar.timegm((*info.date_time, 0, 0, 0))


def _size_of_zip(archive: zipfile.ZipFile) -> int:
    """The size of an open zip in bytes; its members restore their own positions."""
    return archive.fp.seek(0, 2) if archive.fp is not None else 0


def _size_of(file: BinaryIO) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


class MemberContent(Struct, frozen=True):
    """The first bytes of a member; `total_bytes` is its full size, `truncated` if cut."""

    content: bytes
    total_bytes: int

    @property
    def truncated(self) -> bool:
        return len(self.content) < self.total_bytes


def unpack_archive(
    path: Path, target: Path, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> list[Path]:
    """Unpack the tar.gz or zip at `path` into the folder `target`; returns the files written.

    Everything is unpacked beside `target` first, so a refused or damaged archive leaves no trace.
    Files of the same name in an existing `target` are replaced. Raises UnsafeContent,
    IntegrityError or StorageFailed.
    """
    make_folder(target.parent)
    with storage_errors(target), _staging(target) as staged:
        with path.open("rb") as file:
            names = [_write_member(staged, *entry) for entry in read_members(file, limits=limits)]
        if not target.exists():
            staged.rename(target)
        else:
            for name in names:
                _move_into(target, name, staged)
    return [target / name for name in names]


def inspect_archive(
    file: BinaryIO, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> list[ArchiveMember]:
    """The plain files of a tar.gz or zip, in archive order; raises as unpacking does."""
    return [member for member, _ in read_members(file, limits=limits)]


def read_member(
    file: BinaryIO, path: str, *, max_bytes: int, limits: ArchiveLimits = DEFAULT_LIMITS
) -> MemberContent:
    """The first `max_bytes` of the member at `path`; raises NotFound if there is none."""
    wanted = safe_name(path, limits=limits)
    for member, content in read_members(file, limits=limits):
        if member.path == wanted:
            return MemberContent(content.read(max_bytes), member.size)
    raise NotFound(f"There is no file `{wanted}` in the archive")


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """An empty folder on the same file system as `target`; leftovers are removed."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        staged = folder / target.name
        staged.mkdir()
        yield staged
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_member(root: Path, member: ArchiveMember, content: IO[bytes]) -> str:
    if sys.platform == "win32" and not is_windows_name(member.path):
        raise UnsafeContent(
            f"The archive member `{member.path}` has a name that is invalid on Windows"
        )
    path = root / member.path
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise UnsafeContent(
            f"The archive member `{member.path}` has the name of another one on this system, "
            "which does not tell upper from lower case"
        ) from error
    with file, archive_errors():
        shutil.copyfileobj(content, file, _BLOCK)
    if member.executable:
        path.chmod(path.stat().st_mode | 0o111)
    return member.path


def _move_into(target: Path, name: str, staged: Path) -> None:
    """Move one file into an existing folder, never through a link found there."""
    folder = target
    for part in Path(name).parent.parts:
        folder /= part
        if folder.is_symlink():
            raise UnsafeContent(f"{folder} is a link; refusing to unpack through it")
        folder.mkdir(exist_ok=True)
    (staged / name).replace(target / name)
