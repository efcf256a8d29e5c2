"""The `file://` index of an embedded hub, which uv and pip read without a server.

`<root>/<owner>/<PEP 503 name>/index.html`, with each wheel beside it under its real filename,
as a hard link to its blob, and its METADATA behind that.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.paths import make_folder, storage_errors, write_atomically
from prime_cli.hub.simple_index import METADATA_SUFFIX, IndexedWheel, project_html
from prime_cli.hub.storage.files import FileStorage


class SimpleTree:
    """The folder of the index, written from what is published."""

    def __init__(self, root: Path, storage: FileStorage) -> None:
        self.root = root
        self._storage = storage

    def url(self, owner: str) -> str:
        """What `--extra-index-url` takes for one owner's packages."""
        return (self.root / owner).absolute().as_uri() + "/"

    def write(
        self, owner: str, name: str, wheels: list[IndexedWheel], metadata: Mapping[str, bytes]
    ) -> None:
        """Make a project's folder hold exactly `wheels`, and `metadata` by names of wheels.

        First come the files, then the page, then what the page no longer names goes. Raises
        StorageFailed.
        """
        folder = self.root / owner / name
        if not wheels:
            with storage_errors(folder):
                shutil.rmtree(folder, ignore_errors=True)
            return
        make_folder(folder)
        with storage_errors(folder):
            linked = [wheel for wheel in wheels if self._link(folder / wheel.filename, wheel)]
            named = {"index.html", *(wheel.filename for wheel in linked)}
            for filename in named & metadata.keys():
                beside = filename + METADATA_SUFFIX
                named.add(beside)
                write_atomically(folder / beside, metadata[filename])
            page = project_html(name, linked).encode()
            write_atomically(folder / "index.html", page)
            for path in folder.iterdir():
                if path.name not in named:
                    path.unlink()

    def _link(self, path: Path, wheel: IndexedWheel) -> bool:
        """Put the wheel there; False when its blob was lost, which must not stop the others."""
        blob = self._storage.path(wheel.sha256)
        if not blob.exists():
            return False
        if path.exists() and path.samefile(blob):
            return True
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            temporary.hardlink_to(blob)
        except OSError:
            # A file system without hard links.
            shutil.copyfile(blob, temporary)
        temporary.replace(path)
        return True
