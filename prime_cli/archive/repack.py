"""Rewrite a wheel so that its bytes depend on its members only, whatever built it."""

import zipfile
from pathlib import Path

from prime_cli.archive.epoch import DEFAULT_EPOCH, zip_time
from prime_cli.archive.members import archive_errors, index_zip
from prime_cli.core.paths import storage_errors

_BLOCK = 1 << 20


def repack_wheel(source: Path, target: Path, *, epoch: int = DEFAULT_EPOCH) -> None:
    """Write the members of `source` to `target`: sorted, stamped `epoch` (seconds), deflated.

    The `.dist-info` goes last, as the wheel format asks. Content, and with it RECORD, stays as it
    is. Raises UnsafeContent or IntegrityError when `source` is no safe wheel.
    """
    with (
        storage_errors(target),
        archive_errors(),
        zipfile.ZipFile(source) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as new,
    ):
        members = index_zip(old)
        for name in sorted(members, key=lambda name: (".dist-info/" in name, name)):
            header = zipfile.ZipInfo(name, date_time=zip_time(epoch))
            header.compress_type = zipfile.ZIP_DEFLATED
            header.file_size = members[name].file_size  # says whether zip64 is needed
            header.external_attr = _mode(members[name]) << 16
            header.create_system = 3  # Unix, also when built on Windows
            with old.open(members[name]) as content, new.open(header, "w") as packed:
                while block := content.read(_BLOCK):
                    packed.write(block)


def _mode(info: zipfile.ZipInfo) -> int:
    executable = (info.external_attr >> 16) & 0o100
    return 0o100755 if executable else 0o100644
