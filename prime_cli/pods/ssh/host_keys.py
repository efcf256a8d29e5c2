"""A pod's host keys: pinned from the hub's data, else kept from the first connection.

`known_hosts/<pod id>` has the form of sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; its hosts are not
addresses, which the next pod may have, but `prime-pod-<pod id>`.
"""

from collections.abc import Iterable
from pathlib import Path

from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.paths import make_folder, storage_errors, write_atomically
from prime_cli.core.ssh_keys import read_public_key
from prime_cli.pods.ssh.addresses import require_id

_WORDS = 3


def host_alias(pod_id: str, node: int = 0) -> str:
    """The name of a node in known_hosts; raises IntegrityError for an id that is no name."""
    name = f"prime-pod-{require_id(pod_id)}"
    return f"{name}-node-{node}" if node else name


def pin_host_keys(file: Path, pod_id: str, reported: Iterable[str], nodes: int) -> None:
    """Keep in `file` the keys that the hub states for the pod; if none, leave it as is.

    Raises IntegrityError for an invalid key, and if different ones are already kept.
    """
    make_folder(file.parent)
    pins = {_read_key(pod_id, line) for line in reported}
    if not pins:
        return
    held = {key for keys in _read(file).values() for key in keys}
    if held - pins:
        raise IntegrityError(
            f"The hub returned other host keys of `{pod_id}` than before",
            hint=f"if the pod was reinstalled, delete {file} and try again",
        )
    if held != pins:
        hosts = ",".join(host_alias(pod_id, node) for node in range(max(nodes, 1)))
        lines = "".join(f"{hosts} {key}\n" for key in sorted(pins))
        write_atomically(file, lines.encode())


def has_host_key(file: Path, alias: str) -> bool:
    """Whether a key of this host is known, so that no other is accepted."""
    return bool(_read(file).get(alias))


def _read_key(pod_id: str, line: str) -> str:
    try:
        return read_public_key(line).bare
    except UsageError as error:
        raise IntegrityError(
            f"The hub returned an invalid host key of `{pod_id}`: {error.message}"
        ) from error


def _read(file: Path) -> dict[str, set[str]]:
    """Keys (`TYPE BASE64`) by host."""
    found: dict[str, set[str]] = {}
    with storage_errors(file):
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    for line in text.splitlines():
        hosts, *key = line.split()[:_WORDS] or [""]
        if len(key) == _WORDS - 1 and not hosts.startswith(("#", "@")):
            for host in hosts.split(","):
                found.setdefault(host, set()).add(" ".join(key))
    return found
