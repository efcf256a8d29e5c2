"""Fetched wheels, and what hubs said of them, on this disk."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.digests import digest_file, is_sha256
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import home_path, make_folder, storage_errors, write_atomically
from prime_cli.core.refs import LATEST, EnvRef, normalize_name
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.locks import Lock, Signature

WHEELS = "wheels"


class WheelStore:
    """Wheels by digest; names and digests come from a hub, so both are checked before use."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._root = home_path(home, WHEELS)

    def place(self, sha256: str, filename: str) -> Path:
        """Where that wheel belongs; raises IntegrityError when either would be a path."""
        digest = sha256.lower()
        if not is_sha256(digest):
            raise IntegrityError(f"The hub returned an invalid sha256: `{sha256[:80]}`")
        mark_in_use(self._home, WHEELS, digest)
        return self._root / digest / _wheel_name(filename)

    @contextmanager
    def arrival(self, filename: str) -> Iterator[Path]:
        """A place of its own for a wheel whose digest is not known before it is here."""
        name = _wheel_name(filename)
        make_folder(self._root)
        with storage_errors(self._root), tempfile.TemporaryDirectory(dir=self._root) as folder:
            yield Path(folder) / name

    def find(self, sha256: str, filename: str) -> Path | None:
        """The wheel, if it is here and its bytes still have that digest."""
        path = self.place(sha256, filename)
        with storage_errors(path):
            return path if path.is_file() and digest_file(path) == path.parent.name else None

    def find_any(self, sha256: str) -> Path | None:
        """The wheel of that digest, whatever its name is."""
        folder = self._root / sha256.lower()
        if not is_sha256(folder.name):
            return None
        mark_in_use(self._home, WHEELS, folder.name)
        with storage_errors(folder):
            found = (path for path in sorted(folder.glob("*.whl")))
            return next((path for path in found if digest_file(path) == folder.name), None)

    def adopt(self, path: Path) -> Path:
        """Move a wheel that is on the same disk to where its bytes belong."""
        with storage_errors(path):
            place = self.place(digest_file(path), path.name)
            make_folder(place.parent)
            return path.replace(place)


def _wheel_name(filename: str) -> str:
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise IntegrityError(
            f"The hub returned an invalid wheel name, `{filename[:80]}`: {error}"
        ) from error
    if "/" in filename or "\\" in filename:
        raise IntegrityError(f"The hub returned a path as a wheel name: `{filename[:80]}`")
    return filename


class HubRecord(msgspec.Struct):
    """A fetched version: its detail with the wheel's digest, ISO time of publication, lock.

    `pyproject` is the text of the pyproject.toml among its sources; `signatures` are those that
    the hub kept when it was fetched.
    """

    detail: EnvironmentDetail
    published: str | None = None
    lock: Lock | None = None
    pyproject: str | None = None
    signatures: tuple[Signature, ...] = ()


def save_record(home: Path, host: str, record: HubRecord, *, newest: bool) -> None:
    """Keep `record` for its exact version, and for `latest` when it was asked for as `newest`."""
    detail = record.detail
    ref = EnvRef(detail.owner.name, detail.name, detail.semantic_version)
    content = encode(record)
    write_atomically(_record_file(home, host, ref), content)
    if newest:
        write_atomically(_record_file(home, host, ref.at(None)), content)


def load_record(home: Path, host: str, ref: EnvRef) -> HubRecord | None:
    """The record kept for `ref`, None when it was never fetched or cannot be read any more."""
    file = _record_file(home, host, ref)
    with storage_errors(file):
        if not file.is_file():
            return None
        content = file.read_bytes()
    try:
        return decode(content, HubRecord)
    except UsageError:  # written by a version with another shape: as good as absent
        return None


def _record_file(home: Path, host: str, ref: EnvRef) -> Path:
    name = normalize_name(ref.name)
    folder = home_path(home, "cache") / "environments" / quote(host, safe="") / ref.owner / name
    return folder / f"{quote(ref.version or LATEST, safe='')}.json"
