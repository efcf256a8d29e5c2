"""The package index: HTML of PEP 503, JSON of PEP 691 with the fields of PEP 700, and files."""

import os
import shutil
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from prime_cli.core.paths import make_folder, storage_errors, write_atomically
from prime_cli.hub.storage.files import FileStorage

# --- Pages ---
# Both say where METADATA alone is (PEP 658 and 714), and what was yanked (PEP 592).

METADATA_SUFFIX = ".metadata"
"""The suffix of a wheel's URL for its METADATA (PEP 658)."""


class IndexedWheel(Struct, frozen=True):
    """One wheel on a page; `url` may be relative to the page.

    `metadata_sha256` is the digest of the file at the URL with `METADATA_SUFFIX`, None if there is
    none. `yanked` is the reason, which may be empty, or None. Where an upstream has the wheel,
    `size` is None and `uploaded_at` empty.
    """

    filename: str
    url: str
    sha256: str
    size: int | None
    version: str
    requires_python: str
    uploaded_at: str
    metadata_sha256: str | None = None
    yanked: str | None = None


def project_html(name: str, wheels: Iterable[IndexedWheel]) -> str:
    """The page of one project."""
    return _page(f"Links for {name}", [_link(wheel) for wheel in wheels])


def project_json(name: str, wheels: list[IndexedWheel]) -> dict[str, Any]:
    """The same page as JSON."""
    # Since 1.1 (PEP 700) every file has its size.
    sized = all(wheel.size is not None for wheel in wheels)
    return {
        "meta": {"api-version": "1.1" if sized else "1.0"},
        "name": name,
        "versions": sorted({wheel.version for wheel in wheels}),
        "files": [_file(wheel) for wheel in wheels],
    }


def root_html(names: Iterable[str]) -> str:
    """The list of projects; links are relative to a page that ends in a slash."""
    return _page(
        "Simple index", [f'<a href="{quote(name)}/">{escape(name)}</a><br>' for name in names]
    )


def root_json(names: Iterable[str]) -> dict[str, Any]:
    """The same list as JSON."""
    return {
        "meta": {"api-version": "1.1"},
        "projects": [{"name": name} for name in names],
    }


def _file(wheel: IndexedWheel) -> dict[str, Any]:
    file: dict[str, Any] = {
        "filename": wheel.filename,
        "url": wheel.url,
        "hashes": {"sha256": wheel.sha256},
    }
    if wheel.size is not None:
        file["size"] = wheel.size
    if wheel.uploaded_at:
        file["upload-time"] = wheel.uploaded_at
    if wheel.requires_python:
        file["requires-python"] = wheel.requires_python
    if wheel.metadata_sha256:
        file["core-metadata"] = {"sha256": wheel.metadata_sha256}
    if wheel.yanked is not None:
        file["yanked"] = wheel.yanked or True
    return file


def _link(wheel: IndexedWheel) -> str:
    attributes = {"href": f"{wheel.url}#sha256={wheel.sha256}"}
    if wheel.requires_python:
        attributes["data-requires-python"] = wheel.requires_python
    if wheel.metadata_sha256:
        # The second name is PEP 658's original one; older installers know no other.
        for attribute in ("data-core-metadata", "data-dist-info-metadata"):
            attributes[attribute] = f"sha256={wheel.metadata_sha256}"
    if wheel.yanked is not None:
        attributes["data-yanked"] = wheel.yanked
    written = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<a {written}>{escape(wheel.filename)}</a><br>"


def _page(title: str, lines: list[str]) -> str:
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html><head><meta name="pypi:repository-version" content="1.1">',
            f"<title>{escape(title)}</title></head><body>",
            *lines,
            "</body></html>",
            "",
        ]
    )


# --- The index as files ---
# `<root>/<owner>/<PEP 503 name>/index.html`, with each wheel beside it under its real filename,
# as a hard link to its blob, and its METADATA behind that.


class SimpleTree:
    """The index as a folder, written from what is published."""

    def __init__(self, root: Path, storage: FileStorage) -> None:
        self.root = root
        self._storage = storage

    def url(self, owner: str) -> str:
        """The value of `--extra-index-url` for one owner's packages."""
        return (self.root / owner).absolute().as_uri() + "/"

    def write(
        self, owner: str, name: str, wheels: list[IndexedWheel], metadata: Mapping[str, bytes]
    ) -> None:
        """Make a project's folder hold exactly `wheels`, and `metadata` by names of wheels.

        Writes the files, then the page, then deletes what the page no longer names. Raises
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
        """Link the wheel; False if its blob was lost, which must not stop the others."""
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
            # The file system lacks hard links.
            shutil.copyfile(blob, temporary)
        temporary.replace(path)
        return True
