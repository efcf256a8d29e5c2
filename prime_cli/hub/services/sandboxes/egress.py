"""The network of a sandbox, and changes to it while it runs."""

from typing import Any

import msgspec
from sqlalchemy import Row

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.sandboxes.indexes import Indexes, find_indexes
from prime_cli.hub.sandboxes.supervisor.protocol import NetworkChange
from prime_cli.hub.services.sandboxes.lifecycle import find_refreshed, require_endable
from prime_cli.hub.services.sandboxes.rows import (
    request_of,
    require_here,
    save_network,
    supervisor_of,
)
from prime_cli.hub.services.sandboxes.spec import check_denylist, read_hosts, read_network
from prime_cli.hub.settings import SandboxSettings
from prime_cli.wire.sandboxes import (
    INTERNET,
    NONE,
    PACKAGES,
    RUNNING,
    EgressChange,
    EgressPolicy,
    EgressState,
    SandboxCreation,
)


def read_egress(hub: Hub, caller: Caller, sandbox_id: str) -> EgressState:
    """The hosts that it may reach; raises NotFound."""
    row = find_refreshed(hub, caller, sandbox_id)
    state = None if row.terminated_at else supervisor_of(hub).list_states([row.tag]).get(row.tag)
    return _describe(request_of(row), 1 if state is None else state.generation)


def change_egress(hub: Hub, caller: Caller, sandbox_id: str, change: EgressChange) -> EgressState:
    """Let a running sandbox reach only what `change` names; closes other connections.

    Raises NotFound, NotAllowed, Conflict if it does not run, and UsageError for what its provider
    cannot change.
    """
    require_endable(hub, caller, sandbox_id)
    row = find_refreshed(hub, caller, sandbox_id)
    require_here(hub, row)
    if row.status != RUNNING:
        raise Conflict(f"The sandbox is not running: it is {row.status}")
    asked = _read_change(hub, row, change)
    network = asked.network or PACKAGES
    indexes = find_indexes() if network == PACKAGES else Indexes()
    hosts, public = read_hosts(asked, indexes) if network == PACKAGES else ((), ())
    order = NetworkChange(network, hosts, public, dict(indexes.variables))
    state = supervisor_of(hub).change_network(row.tag, order)
    reached = [*hosts, *public] if network == PACKAGES else None
    asked = msgspec.structs.replace(asked, network_allowlist=reached)
    save_network(hub, row, asked, state.facts)
    return _describe(asked, state.generation)


def _read_change(hub: Hub, row: Row[Any], change: EgressChange) -> SandboxCreation:
    """The request of a sandbox with `change` applied; raises UsageError."""
    named = [each for each in msgspec.structs.astuple(change) if each is not None]
    if len(named) != 1:
        raise UsageError("Name one of `allowlist`, `denylist` and `network`")
    check_denylist(change.denylist)
    asked = msgspec.structs.replace(
        request_of(row),
        network=INTERNET if change.denylist is not None else change.network,
        network_allowlist=change.allowlist,
        network_access=None,
    )
    level = read_network(hub.settings.sandboxes or SandboxSettings(), asked)
    return msgspec.structs.replace(asked, network=level)


def _describe(asked: SandboxCreation, generation: int) -> EgressState:
    if asked.network == INTERNET:
        policy = EgressPolicy(denylist=[])
    else:
        policy = EgressPolicy([] if asked.network == NONE else asked.network_allowlist)
    return EgressState(policy, asked.network, generation, generation)
