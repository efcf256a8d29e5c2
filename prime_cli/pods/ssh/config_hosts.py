"""The hosts of a file of ssh that a provider on this machine has written for a pod."""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import Unreachable
from prime_cli.core.paths import storage_errors


@dataclass(frozen=True)
class ConfigHost:
    """A `Host` of `file`: a name of it, and its options as they are written."""

    file: Path
    name: str
    options: tuple[str, ...]


def find_host(file: Path, node: int) -> ConfigHost:
    """The host of a node: the nodes are there in their order. Raises Unreachable without it."""
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
