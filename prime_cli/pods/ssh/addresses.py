"""A pod's addresses, from a hub's untrusted data.

All of it ends up in ssh arguments or files, where a blank, a line break or a leading `-` would
become an ssh option, and so a command of whoever wrote it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import IntegrityError, Unreachable, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.wire.pods import Addresses

_CONNECTION = re.compile(
    r"(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]{0,63})"
    r"@(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Fa-f:]{2,45}|[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))"
    r"(?: -p (?P<port>[0-9]{1,5}))?"
)
_ID = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,127})")
_MOST_PORT = 65535
_SHOWN = 80


@dataclass(frozen=True)
class NodeAddress:
    """A node of a pod; IPv6 hosts are without brackets."""

    user: str
    host: str
    port: int = 22

    @property
    def login(self) -> str:
        """`user@host`, as ssh expects it."""
        return f"{self.user}@{self.host}"


def parse_address(text: str) -> NodeAddress:
    """Parse `user@host -p PORT`, or `user@host` for port 22; raises IntegrityError otherwise."""
    found = _CONNECTION.fullmatch(text)
    port = int(found["port"] or 22) if found else 0
    if found is None or not 1 <= port <= _MOST_PORT:
        raise IntegrityError(
            f"The hub returned an invalid address for the pod: {text[:_SHOWN]!r}",
            hint="nothing was started; tell the hub's administrator",
        )
    return NodeAddress(found["user"], found["host"].strip("[]"), port)


def addresses_of(connection: Addresses) -> list[NodeAddress | None]:
    """Each node's address, None if it has none yet; raises IntegrityError as `parse_address`."""
    texts = connection if isinstance(connection, list) else [connection]
    return [parse_address(text.strip(" ")) if text else None for text in texts]


def address_of(connection: Addresses, node: int) -> NodeAddress | None:
    """The address of a node, counted from 0; None if it has none yet.

    Raises UsageError for a node that the pod does not have, IntegrityError as `parse_address`.
    """
    found = addresses_of(connection)
    if node >= len(found) and any(found):
        last = len(found) - 1
        has = "has one node" if last == 0 else f"has the nodes 0 to {last}"
        raise UsageError(f"The pod {has}, and no node {node}")
    return found[node] if node < len(found) else None


def require_id(pod_id: str) -> str:
    """A pod's id that is safe as a file and host name; raises IntegrityError."""
    if not _ID.fullmatch(pod_id):
        raise IntegrityError(f"The hub returned an invalid pod id: {pod_id[:_SHOWN]!r}")
    return pod_id


@dataclass(frozen=True)
class ConfigHost:
    """A `Host` of `file`: one of its names, and its options as written."""

    file: Path
    name: str
    options: tuple[str, ...]


def find_host(file: Path, node: int) -> ConfigHost:
    """The host of a node, in file order. Raises Unreachable without it."""
    hosts = _read_hosts(file)
    if node >= len(hosts):
        raise Unreachable(f"{file} has no host for node {node}")
    return hosts[node]


def _read_hosts(file: Path) -> list[ConfigHost]:
    with storage_errors(file):
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    hosts: list[ConfigHost] = []
    for line in map(str.strip, lines):
        keyword, _, rest = line.partition(" ")
        if keyword.lower() == "host" and rest.split():
            hosts.append(ConfigHost(file, rest.split()[0], ()))
        elif hosts and line and not line.startswith("#"):
            last = hosts.pop()
            hosts.append(ConfigHost(file, last.name, (*last.options, line)))
    return hosts
