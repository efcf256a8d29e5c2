"""The network of a pod: a NetworkPolicy, and the names that it can resolve.

A policy knows addresses, not names. For `packages` the names of the indexes are resolved here, and
the pod is given exactly these names and addresses, and no name server. Whether a cluster applies
policies can be read nowhere: it is tried (`probe`).
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prime_cli.core.errors import Unreachable, UsageError
from prime_cli.hub.sandboxes.internet import INTERNET_FACT, PRIVATE_NETWORKS
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.proxy import is_public
from prime_cli.wire.sandboxes import INTERNET, PACKAGES

_NODE_NAME_SERVER = "169.254.20.10/32"
"""NodeLocal DNSCache."""

_NO_NAMES = {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["127.0.0.1"]}}
_TOO_FAR = "use the network `internet` or `none`, or another provider"


@dataclass(frozen=True)
class Network:
    """The rules of `egress` of a policy, the fields of a pod for `names`, and what that gives."""

    egress: tuple[dict[str, Any], ...] = ()
    names: dict[str, Any] = field(default_factory=dict)
    fact: str = "none"


async def make_network(spec: SandboxSpec) -> Network:
    """The network of a sandbox; raises UsageError for hosts that cannot be granted, Unreachable for
    those without an address.
    """
    if spec.network == INTERNET:
        return Network(egress=(_names_rule(), _public_rule()), fact=INTERNET_FACT)
    if spec.network != PACKAGES:
        return Network(names=_NO_NAMES)
    hosts = {**dict.fromkeys(spec.hosts, False), **dict.fromkeys(spec.public_hosts, True)}
    found = [await _resolve(host, must_be_public=public) for host, public in hosts.items()]
    aliases: dict[str, dict[str, None]] = {}
    for name, address, _ in found:
        if name != address:
            aliases.setdefault(address, {})[name] = None
    return Network(
        egress=tuple(_rule(address, port) for _, address, port in found),
        names={
            **_NO_NAMES,
            "hostAliases": [{"ip": ip, "hostnames": list(names)} for ip, names in aliases.items()],
        },
        fact=f"{', '.join(spec.reached) or 'no host'}, at the addresses of its start",
    )


async def _resolve(host: str, *, must_be_public: bool) -> tuple[str, str, int]:
    """The name, address and port of `host:port`; the lowest address, of version 4 if there is one.

    A name has one address in a pod, so both of its ports need the same.
    """
    name, _, port = host.rpartition(":")
    if name.startswith("*."):
        raise UsageError(
            f"A cluster cannot be told to let `{name[:80]}` through: its policies know no names",
            hint=f"name each host, or {_TOO_FAR}",
        )
    loop = asyncio.get_running_loop()
    try:
        known = await loop.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unreachable(f"The address of `{name[:200]}` is not found: {error}") from error
    addresses = sorted({str(each[4][0]) for each in known}, key=lambda each: (":" in each, each))
    fitting = [each for each in addresses if not must_be_public or is_public(each)]
    if not fitting:
        raise UsageError(f"`{name[:200]}` has no public address", hint=_TOO_FAR)
    if all(ipaddress.ip_address(each).is_loopback for each in fitting):
        raise UsageError(
            f"The package index `{host[:200]}` is on this machine, which a pod does not reach",
            hint=_TOO_FAR,
        )
    return name, fitting[0], int(port)


def _rule(address: str, port: int) -> dict[str, Any]:
    bits = ipaddress.ip_address(address).max_prefixlen
    return {
        "to": [{"ipBlock": {"cidr": f"{address}/{bits}"}}],
        "ports": [{"protocol": "TCP", "port": port}],
    }


def _public_rule() -> dict[str, Any]:
    return {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(PRIVATE_NETWORKS)}}]}


def _names_rule() -> dict[str, Any]:
    """The cluster's name servers: without them there are no names."""
    servers: Sequence[dict[str, Any]] = (
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        },
        {"ipBlock": {"cidr": _NODE_NAME_SERVER}},
    )
    return {
        "to": list(servers),
        "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")],
    }
