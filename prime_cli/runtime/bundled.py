"""Wheels that came to this machine in a bundle: `<home>/bundles/<digest>/`, beside what needs them.

```
bundle.json                         what is in it, with digests
environments/<sha256>/<name>.whl    an environment's own wheel, by its digest
wheels/<file>.whl                   the packages that its lock names
```
"""

from pathlib import Path

BUNDLES = "bundles"
ENVIRONMENTS = "environments"
WHEELS = "wheels"


def bundles_folder(home: Path) -> Path:
    return home / BUNDLES


def wheel_folders(home: Path, wheel_sha256: str) -> list[Path]:
    """The folders with packages for the environment whose wheel has this digest."""
    found = bundles_folder(home).glob(f"*/{ENVIRONMENTS}/{wheel_sha256}")
    return sorted(folder.parents[1] / WHEELS for folder in found)


def find_links(home: Path, *wheels_sha256: str) -> list[str]:
    """Uv's words to take packages for these environments from their bundles too."""
    folders = [folder for sha256 in wheels_sha256 for folder in wheel_folders(home, sha256)]
    return [word for folder in dict.fromkeys(folders) for word in ("--find-links", str(folder))]
