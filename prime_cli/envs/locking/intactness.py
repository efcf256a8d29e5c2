"""Whether the files of an installed package are those that its wheel brought, by its RECORD."""

import base64
import csv
import hashlib
from collections.abc import Iterator

from prime_cli.envs.installed import Distribution

_PREFIX = "sha256="


def altered_files(package: Distribution) -> Iterator[str]:
    """The paths, below site-packages, of files that are missing or have another digest.

    Those without a digest in RECORD, such as what installers add, are not looked at.
    """
    site = package.folder.parent
    for path, digest in _recorded(package):
        try:
            with (site / path).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").digest()
        except OSError:
            yield path
            continue
        if base64.urlsafe_b64encode(found).rstrip(b"=").decode() != digest:
            yield path


def _recorded(package: Distribution) -> Iterator[tuple[str, str]]:
    try:
        text = (package.folder / "RECORD").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        yield f"{package.folder.name}/RECORD", ""
        return
    for row in csv.reader(text.splitlines()):
        if len(row) > 1 and row[1].startswith(_PREFIX):
            yield row[0], row[1].removeprefix(_PREFIX).rstrip("=")
