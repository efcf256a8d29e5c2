"""`.prime/.env-metadata.json` in a project: where it was pulled from and published to.

File name and keys are those of the official client, so that either client reads the other's.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import EnvRef

_FILE = Path(".prime", ".env-metadata.json")
_OLD_FILE = Path(".env-metadata.json")

_PENDING = "pending_version"
"""A version that was written into pyproject.toml and is not known to be published; ours."""


def read_provenance(root: Path) -> dict[str, Any]:
    """What is recorded in the project at `root`; empty when nothing readable is."""
    for name in (_FILE, _OLD_FILE):
        path = root / name
        with storage_errors(path):
            if not path.is_file():
                continue
            content = path.read_bytes()
        try:
            found = json.loads(content)
        except ValueError:  # a note for convenience: better lost than in the way
            continue
        if isinstance(found, dict):
            return found
    return {}


def write_provenance(root: Path, values: Mapping[str, Any]) -> None:
    """Replace the record; raises StorageFailed."""
    write_atomically(root / _FILE, json.dumps(values, indent=2).encode(), mode=0o644)


def record_pending(root: Path, version: str) -> None:
    """Note that the project was given `version` in order to publish it."""
    write_provenance(root, {**read_provenance(root), _PENDING: version})


def is_pending(root: Path, version: str) -> bool:
    """Whether an upload gave the project this version, and did not come to its end."""
    return bool(read_provenance(root).get(_PENDING) == version)


def record_push(root: Path, ref: EnvRef, environment_id: str, wheel_sha256: str | None) -> None:
    """Note that the project was published as `ref` (with its version) just now.

    Where it was known under another owner or name before, that becomes its origin, and the end of
    its chain of forks.
    """
    before = read_provenance(root)
    record = {**before, **_fork(before, ref)}
    record.pop(_PENDING, None)
    record |= {
        "environment_id": environment_id,
        "owner": ref.owner,
        "name": ref.name,
        "version": ref.version,
        # Local time without a zone, as the official client writes and reads it.
        "pushed_at": datetime.now().isoformat(),  # noqa: DTZ005
        "wheel_sha256": wheel_sha256,
    }
    write_provenance(root, record)


def _fork(before: Mapping[str, Any], ref: EnvRef) -> dict[str, Any]:
    owner, name = before.get("owner"), before.get("name")
    if not owner or not name or (owner, name) == (ref.owner, ref.name):
        return {}
    parent = {key: before.get(key) for key in ("owner", "name", "environment_id", "version")}
    chain = before.get("fork_chain")
    return {
        "forked_from": f"{owner}/{name}",
        "origin": before.get("origin") or parent,
        "fork_chain": [*(chain if isinstance(chain, list) else []), parent],
    }
