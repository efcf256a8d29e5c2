"""What is kept here of pods that were reached, and how it goes when they have ended."""

import re
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.file_locks import locked
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.pods.ssh.addresses import require_id
from prime_cli.pods.ssh.blocks import Block, format_blocks, read_blocks
from prime_cli.pods.ssh.files import SshFiles

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class KnownPod:
    """A pod of which something is kept; `hub` is None where only its host keys are."""

    pod_id: str
    hub: str | None


def known_pods(home: Path) -> list[KnownPod]:
    """The pods of which there are aliases or host keys below prime's `home`.

    `hub` is the address under which the pod was reached: only that hub can tell that it is gone.
    """
    files = SshFiles(home)
    hubs: dict[str, str | None] = {block.pod_id: block.hub for block in read_blocks(files.config)}
    with storage_errors(files.all_known_hosts):
        if files.all_known_hosts.is_dir():
            for file in sorted(files.all_known_hosts.iterdir()):
                if _ID.fullmatch(file.name) and file.is_file():
                    hubs.setdefault(file.name, None)
    return [KnownPod(pod_id, hub) for pod_id, hub in hubs.items()]


def forget_pod(home: Path, pod_id: str) -> bool:
    """Remove a pod's aliases and host keys; whether there were any.

    Raises StorageFailed where they cannot be removed, IntegrityError for an id that is no name.
    """
    files = SshFiles(home)
    known_hosts = files.known_hosts(require_id(pod_id))
    with storage_errors(known_hosts):
        had_keys = known_hosts.is_file()
        known_hosts.unlink(missing_ok=True)
        known_hosts.with_name(f"{known_hosts.name}.old").unlink(missing_ok=True)
    return _remove_block(files, pod_id) or had_keys


def _remove_block(files: SshFiles, pod_id: str) -> bool:
    if not any(block.pod_id == pod_id for block in read_blocks(files.config)):
        return False
    with locked(files.lock):
        write_blocks(files, [b for b in read_blocks(files.config) if b.pod_id != pod_id])
    return True


def write_blocks(files: SshFiles, blocks: list[Block]) -> None:
    """Replace the file; `files.lock` is held meanwhile."""
    write_atomically(files.config, format_blocks(blocks))
