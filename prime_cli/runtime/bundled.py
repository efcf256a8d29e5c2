"""Wheels that came to this machine in a bundle: `<home>/bundles/<digest>/`, beside what needs them.

```
bundle.json                         what is in it, with digests
environments/<sha256>/<name>.whl    an environment's own wheel, by its digest
environments/<sha256>/record.json   what is known of it, its lock among it
wheels/<file>.whl                   the packages that its lock names
```
"""

from pathlib import Path

import msgspec

from prime_cli.core.file_locks import mark_in_use
from prime_cli.wire.locks import Lock

BUNDLES = "bundles"
ENVIRONMENTS = "environments"
WHEELS = "wheels"


def bundles_folder(home: Path) -> Path:
    return home / BUNDLES


def wheel_folders(home: Path, wheel_sha256: str) -> list[Path]:
    """The folders with packages for the environment whose wheel has this digest."""
    bundles = [
        folder.parents[1]
        for folder in bundles_folder(home).glob(f"*/{ENVIRONMENTS}/{wheel_sha256}")
    ]
    for bundle in bundles:
        mark_in_use(home, BUNDLES, bundle.name)
    return sorted(bundle / WHEELS for bundle in bundles)


def find_links(home: Path, *wheels_sha256: str) -> list[str]:
    """Uv's words to take packages for these environments from their bundles too."""
    folders = [folder for sha256 in wheels_sha256 for folder in wheel_folders(home, sha256)]
    return [word for folder in dict.fromkeys(folders) for word in ("--find-links", str(folder))]


class _Record(msgspec.Struct):
    lock: Lock | None = None


def bundled_lock(home: Path, wheel_sha256: str) -> Lock | None:
    """The lock with which the wheel of that digest was bundled; None where it was not."""
    for folder in wheel_folders(home, wheel_sha256):
        file = folder.parent / ENVIRONMENTS / wheel_sha256 / "record.json"
        try:
            lock = msgspec.json.decode(file.read_bytes(), type=_Record).lock
        except (OSError, msgspec.MsgspecError):
            continue
        if lock is not None and lock.wheel_sha256 == wheel_sha256:
            return lock
    return None
