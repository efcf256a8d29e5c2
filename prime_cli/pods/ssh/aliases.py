"""Names of pods that plain ssh knows: `ssh prime-NAME`, and with it editors and rsync."""

import re
from collections.abc import Collection

from prime_cli.core.errors import IntegrityError
from prime_cli.core.file_locks import locked
from prime_cli.pods.ssh.addresses import Address
from prime_cli.pods.ssh.blocks import Block, read_blocks
from prime_cli.pods.ssh.files import SshFiles
from prime_cli.pods.ssh.forgetting import write_blocks
from prime_cli.pods.ssh.routes import Route

_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")
_LONGEST = 63
_TELLING = 8
"""Digits of an id that are put behind a name that another pod has."""


def keep_alias(files: SshFiles, hub: str, route: Route) -> str:
    """Write the block of a node, or replace it; the name by which ssh knows the node from now on.

    `hub` is the address under which the pod was reached. Raises StorageFailed, and IntegrityError
    for an id that would take the name of another pod.
    """
    before = read_blocks(files.config)
    name, after = _with_alias(before, hub, route)
    if before != after:
        with locked(files.lock):
            name, after = _with_alias(read_blocks(files.config), hub, route)
            write_blocks(files, after)
    return name


def _with_alias(blocks: list[Block], hub: str, route: Route) -> tuple[str, list[Block]]:
    """The name, and the blocks with that of the node; one that is there keeps its place."""
    # Never the id alone: a hub could call a pod `github.com`, and have what is meant for that.
    by_id = route.host_alias
    others = [each for each in blocks if not _is_of(each, route, by_id)]
    taken = {host for block in others if block.pod_id != route.pod_id for host in block.hosts}
    if by_id in taken:
        raise IntegrityError(f"The hub has a pod whose id is taken here: `{by_id}` is another one")
    name = _node_name(_choose_name(route, taken), route.node)
    block = Block(route.pod_id, hub, tuple(_lines(route, name, by_id)))
    if len(others) == len(blocks):
        return name, [block, *blocks]
    return name, [block if _is_of(each, route, by_id) else each for each in blocks]


def _is_of(block: Block, route: Route, by_id: str) -> bool:
    return block.pod_id == route.pod_id and by_id in block.hosts


def _choose_name(route: Route, taken: Collection[str]) -> str:
    slug = _NOT_IN_NAMES.sub("-", route.name.lower()).strip("-.")[:_LONGEST] or route.pod_id
    name = f"prime-{slug}"
    return f"{name}-{route.pod_id[:_TELLING]}" if name in taken else name


def _node_name(name: str, node: int) -> str:
    return f"{name}-node-{node}" if node else name


def _lines(route: Route, *names: str) -> list[str]:
    where = route.host.options if route.host is not None else _where(route.address)
    # What is said first wins, so our options come before those of a provider.
    options = [*(f"{name} {value}" for name, value in route.options), *where]
    return [f"Host {' '.join(names)}", *(f"    {option}" for option in options)]


def _where(address: Address) -> list[str]:
    return [f"HostName {address.host}", f"Port {address.port}", f"User {address.user}"]
