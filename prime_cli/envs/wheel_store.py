"""Fetched wheels on this disk: `<home>/wheels/<sha256>/<real file name>`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from prime_cli.core.digests import digest_file, is_sha256
from prime_cli.core.errors import IntegrityError
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import make_folder, storage_errors

WHEELS = "wheels"


class WheelStore:
    """Wheels by digest; names and digests come from a hub, so both are checked before use."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._root = home / WHEELS

    def place(self, sha256: str, filename: str) -> Path:
        """Where that wheel belongs; raises IntegrityError when either would be a path."""
        digest = sha256.lower()
        if not is_sha256(digest):
            raise IntegrityError(f"The hub names `{sha256[:80]}` as a sha256, which it is not")
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
        raise IntegrityError(f"The hub names `{filename[:80]}` as a wheel: {error}") from error
    if "/" in filename or "\\" in filename:
        raise IntegrityError(f"The hub names `{filename[:80]}` as a wheel, which is a path")
    return filename
