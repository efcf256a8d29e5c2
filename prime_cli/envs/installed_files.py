"""The files of an installed package, by its RECORD, and whether they are as its wheel brought them.

RECORD is a CSV of path, `sha256=` digest in base64 without padding, and size:
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

import base64
import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path

from prime_cli.envs.installed import Distribution

_PREFIX = "sha256="


def recorded_files(package: Distribution) -> tuple[tuple[str, str | None], ...] | None:
    """Each path below site-packages with its digest as RECORD writes it; None without a RECORD.

    Files outside of site-packages, such as scripts, are left out.
    """
    try:
        text = (package.folder / "RECORD").read_text(encoding="utf-8")
        rows = list(csv.reader(text.splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error):
        return None
    site = package.folder.parent.resolve()
    return tuple(
        (row[0], row[1].removeprefix(_PREFIX) if row[1].startswith(_PREFIX) else None)
        for row in rows
        if len(row) > 1 and row[0] and _is_inside(site, row[0])
    )


def altered_files(package: Distribution) -> Iterator[str]:
    """The paths, below site-packages, of files that are missing or have another digest.

    Those without a digest in RECORD, such as what installers add, are not looked at.
    """
    recorded = recorded_files(package)
    if recorded is None:
        yield f"{package.folder.name}/RECORD"
        return
    for path, digest in recorded:
        if digest is not None and _digest(package.folder.parent / path) != digest.rstrip("="):
            yield path


def _is_inside(site: Path, path: str) -> bool:
    """A RECORD may be anybody's: nothing outside of site-packages is read for it."""
    return "\0" not in path and (site / path).resolve().is_relative_to(site)


def _digest(file: Path) -> str | None:
    try:
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").digest()
    except OSError:
        return None
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()
