"""The network `internet`: every public address, but nothing of this machine or its networks.

The sandbox's own network namespace has a filter, loaded from outside before any command runs, which
code inside has no capability to change. slirp4netns then connects it, without privileges: it opens
an ordinary socket of this machine for each connection. Its address for this machine's loopback is
switched off; its name server asks this machine's.
"""

import asyncio
import ipaddress
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.process import child_environment
from prime_cli.hub.sandboxes.namespace import find_system_program, open_network, run_inside

NAME_SERVER = "10.0.2.3"
"""slirp4netns' own."""

INTERNET_FACT = (
    "the Internet by IPv4; this machine, its networks and other private addresses are filtered"
)

_PACKAGES = {"slirp4netns": "slirp4netns", "nft": "nftables", "nsenter": "util-linux"}
_TUN = Path("/dev/net/tun")
_SECONDS = 20.0
_CHUNK = 1 << 16
_NEWS = ("WARNING", "sent ", "received ")
"""How lines begin that slirp4netns prints before it says what fails."""

PRIVATE_NETWORKS = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "168.63.129.16/32",
)  # fmt: skip
"""IANA's special-purpose addresses, and where Azure tells a machine about itself."""

_FILTER = """
table inet prime
delete table inet prime
table inet prime {{
  chain output {{
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
{servers}
    ip daddr {{ {refused} }} reject with icmp type admin-prohibited
    meta nfproto ipv4 accept
    reject with icmpv6 type admin-prohibited
  }}
}}
"""


def require_internet() -> None:
    """Raise UsageError if this machine cannot connect a sandbox and filter what it reaches."""
    missing = [package for name, package in _PACKAGES.items() if find_system_program(name) is None]
    if missing:
        raise UsageError(
            f"For the network `internet`, bubblewrap needs {' and '.join(missing)}, which this "
            "machine does not have",
            hint=f"install what is missing (`apt install {' '.join(missing)}`), or use the network "
            "`packages`",
        )
    if not os.access(_TUN, os.R_OK | os.W_OK):
        why = "may not be opened" if _TUN.exists() else "does not exist"
        raise UsageError(
            f"bubblewrap has no network `internet` here: {_TUN} {why}",
            hint="load the module `tun` and let users open it, or use the network `packages`",
        )


class Uplink:
    """What connects a sandbox; it ends with this process too."""

    def __init__(self, process: asyncio.subprocess.Process, holding: int) -> None:
        self._process, self._holding = process, holding
        self._reading: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read what it says from now on: a full pipe would stop it, and hide that it ended."""
        self._reading = asyncio.create_task(_discard(self._process.stderr))

    async def end(self) -> None:
        """Disconnect the sandbox."""
        os.close(self._holding)
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def can_filter() -> bool:
    """Whether the network of somebody else's container on this machine can be filtered."""
    is_root = sys.platform != "win32" and os.geteuid() == 0
    return is_root and all(map(find_system_program, ("nft", "nsenter")))


async def connect_filtered(pid: int) -> Uplink:
    """Filter the network of a sandbox's process, then connect it; raises EnvironmentFailed."""
    await filter_network(pid, [NAME_SERVER])
    return await _connect(pid)


async def filter_network(pid: int, name_servers: Iterable[str]) -> None:
    """Refuse a process' network what is not the Internet, but for its name servers.

    A filter of before is replaced. Raises EnvironmentFailed.
    """
    asked = (
        f"    ip daddr {each} meta l4proto {{ tcp, udp }} th dport 53 accept"
        for each in name_servers
    )
    refused = ", ".join(map(str, _refused_networks()))
    rules = _FILTER.format(servers="\n".join(asked), refused=refused)
    await run_inside(pid, [_program("nft"), "-f", "-"], stdin=rules.encode())


def _refused_networks() -> list[ipaddress.IPv4Network]:
    """Those of no one else on the Internet; this machine's own may be public ones."""
    own = (each for each in own_networks() if isinstance(each, ipaddress.IPv4Network))
    networks = [*map(ipaddress.IPv4Network, PRIVATE_NETWORKS), *own]
    return list(ipaddress.collapse_addresses(networks))


def own_networks() -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks of all interfaces of this machine."""
    import psutil  # not needed to declare a provider

    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            # Beside them are those of the hardware.
            with suppress(ValueError):
                address = ipaddress.ip_address(each.address.partition("%")[0])
                mask = ipaddress.ip_address(each.netmask) if each.netmask else None
                bits = address.max_prefixlen if mask is None else int(mask).bit_count()
                yield ipaddress.ip_network(f"{address}/{bits}", strict=False)


async def _connect(pid: int) -> Uplink:
    if sys.platform == "win32":
        raise EnvironmentFailed("There are no namespaces on Windows")
    held, holding = os.pipe()
    ready, saying = os.pipe()
    try:
        with open_network(pid) as (network, users):
            words = [
                *(_program("slirp4netns"), "--configure", "--mtu=65520"),
                *("--disable-host-loopback", "--enable-seccomp"),
                # Which becomes uid 0 of the sandbox's namespaces; there, a user is only himself.
                *(("--enable-sandbox",) if os.geteuid() == 0 else ()),
                *(f"--exit-fd={held}", f"--ready-fd={saying}", "--netns-type=path"),
                *(() if users is None else (f"--userns-path=/proc/self/fd/{users}",)),
                *(f"/proc/self/fd/{network}", "tap0"),
            ]
            inherited = (held, saying, network, *(() if users is None else (users,)))
            process = await asyncio.create_subprocess_exec(
                *words,
                pass_fds=inherited,
                env=child_environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
    except BaseException:
        os.close(ready)
        os.close(holding)
        raise
    finally:
        os.close(held)
        os.close(saying)
    uplink = Uplink(process, holding)
    try:
        await _wait_until_ready(process, ready)
    except BaseException:
        await uplink.end()
        raise
    uplink.begin()
    return uplink


async def _discard(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(_CHUNK):
        pass


async def _wait_until_ready(process: asyncio.subprocess.Process, ready: int) -> None:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ready, "rb", 0)
    )
    try:
        async with asyncio.timeout(_SECONDS):
            if await reader.read(1):
                return
            said = b"" if process.stderr is None else await process.stderr.read()
    except TimeoutError as error:
        raise EnvironmentFailed("slirp4netns did not connect a sandbox in time") from error
    finally:
        transport.close()
    lines = said.decode(errors="replace").splitlines()
    why = next((line[:300] for line in lines if not line.startswith(_NEWS)), "it ended")
    raise EnvironmentFailed(f"slirp4netns did not connect a sandbox: {why}")


def _program(name: str) -> str:
    found = find_system_program(name)
    if found is None:
        raise EnvironmentFailed(
            f"The program `{name}` is missing", hint=f"install {_PACKAGES[name]}"
        )
    return found
