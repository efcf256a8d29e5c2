"""A machine, its local network and an Internet of three network namespaces; nothing leaves them.

`unshare --net --mount python -m tests.helpers.small_internet FOLDER UID` (as root) is the machine.
It makes, as the user UID, a sandbox of bubblewrap with the network `internet`, and prints as JSON
which addresses the machine and the sandbox reach. Every address has a server, on this machine or
beyond its only link.
"""

import asyncio
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec

from prime_cli.hub.sandboxes.bubblewrap.process import BubblewrapSandbox
from prime_cli.hub.sandboxes.bubblewrap.provider import BubblewrapProvider
from prime_cli.hub.sandboxes.provider import ExecSpec, SandboxSpec
from prime_cli.wire.sandboxes import INTERNET, NONE
from tests.helpers.unprivileged import become, sh

PORT = 8080


def addresses(devices: dict[str, list[str]]) -> list[str]:
    """Those of all devices, without the sizes of their networks."""
    return [each.partition("/")[0] for found in devices.values() for each in found]


MACHINE = {"lo": ["127.0.0.53/8"], "m0": ["10.9.0.1/24", "5.6.7.1/24", "fd00:9::1/64"]}
"""A local network may have public addresses."""
BEYOND = {
    "o0": ["10.9.0.2/24", "5.6.7.2/24", "fd00:9::2/64"],
    "lo": ["1.2.3.4/32", "169.254.169.254/32", "192.168.77.7/32", "100.64.0.9/32", "2a01::9/128"],
}
NAMES = {"public.test": "1.2.3.4", "lan.test": "10.9.0.2"}
PLACES = [*addresses(MACHINE), "127.0.0.1", "::1", *addresses(BEYOND), "::ffff:10.9.0.2", *NAMES]
SOME = ["1.2.3.4", "10.9.0.2", "127.0.0.53"]
INSIDE_ALONE = ["10.0.2.2", "10.0.2.3"]
"""Of slirp4netns: this machine's loopback, and its name server's address."""

PROBE = f"""
import json, socket, sys
found = {{}}
for place in sys.argv[1:]:
    reached = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            family, _, _, _, address = socket.getaddrinfo(place, {PORT}, type=kind)[0]
            with socket.socket(family, kind) as link:
                link.settimeout(1)
                link.connect(address)
                link.send(b"hello")
                if link.recv(9) == b"hello":
                    reached.append(kind.name)
        except OSError:
            pass
    found[place] = reached
print(json.dumps(found))
"""
ECHO = f"""
import socket, sys, threading
sys.stdin.readline()
def echo(link):
    link.sendall(link.recv(9))
    link.close()
def accept(server):
    while True:
        threading.Thread(target=echo, args=server.accept()[:1], daemon=True).start()
def answer(server):
    while True:
        data, peer = server.recvfrom(9)
        server.sendto(data, peer)
tcp = socket.create_server(("::", {PORT}), family=socket.AF_INET6, dualstack_ipv6=True)
threading.Thread(target=accept, args=(tcp,), daemon=True).start()
for place in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in place else socket.AF_INET
    udp = socket.socket(family, socket.SOCK_DGRAM)
    udp.bind((place, {PORT}))
    threading.Thread(target=answer, args=(udp,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""
"""Answers at each address once it is told to, until its stdin ends."""


def connect(beyond: int) -> None:
    """Give this namespace and that of the process `beyond` their addresses."""
    there = ("nsenter", f"--net=/proc/{beyond}/ns/net", "ip")
    sh("ip", "link", "add", "m0", "type", "veth", "peer", "name", "o0", "netns", str(beyond))
    for ip, places in ((("ip",), MACHINE), (there, BEYOND)):
        for device, addresses in places.items():
            sh(*ip, "link", "set", device, "up")
            for each in addresses:
                sh(*ip, "address", "add", each, "dev", device, *(["nodad"] if ":" in each else []))
    sh("ip", "route", "add", "default", "via", "10.9.0.2")
    sh("ip", "-6", "route", "add", "default", "via", "fd00:9::2")


def echoing(*prefix: str, places: list[str]) -> "subprocess.Popen[bytes]":
    """A process that is to answer at `places`."""
    words = [*prefix, sys.executable, "-c", ECHO, *places]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def serve_names(server: socket.socket) -> None:
    """A name server with NAMES."""
    while True:
        data, peer = server.recvfrom(512)
        end = data.index(b"\0", 12)
        labels, at = [], 12
        while at < end:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        address = NAMES.get(".".join(labels))
        (kind,) = struct.unpack_from(">H", data, end + 1)
        found = address is not None and kind == 1
        head = data[:2] + struct.pack(">HHHHH", 0x8180, 1, int(found), 0, 0)
        answer = b""
        if address is not None and found:
            answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 9, 4) + socket.inet_aton(address)
        server.sendto(head + data[12 : end + 5] + answer, peer)


async def read_output(sandbox: BubblewrapSandbox, words: tuple[str, ...]) -> bytes:
    """All that a program in a sandbox prints."""
    command = await sandbox.run(ExecSpec(words))
    said = b""
    while part := await command.stdout.read(1 << 16):
        said += part
    command.close()
    return said


async def look_from_sandbox(folder: Path) -> dict[str, object]:
    """What a sandbox reaches."""
    spec = SandboxSpec(
        "prime-test-net", "0" * 32, "python:3.11", time.time() + 60, network=INTERNET
    )
    sandbox = await BubblewrapProvider().create(spec)
    try:
        tried = await sandbox.run(ExecSpec(("/usr/sbin/nft", "flush", "ruleset")))
        flushed = await tried.wait()
        words = ("python", "-c", PROBE, *PLACES, *INSIDE_ALONE)
        said = await read_output(sandbox, words)
        found = {"reached": json.loads(said), "flush": flushed, "fact": sandbox.facts["network"]}
        for level in (NONE, INTERNET):
            await sandbox.change_network(msgspec.structs.replace(spec, network=level))
            found[level] = json.loads(await read_output(sandbox, ("python", "-c", PROBE, *SOME)))
        return found
    finally:
        await sandbox.end()


def become_with_tun(user: int, folder: Path) -> None:
    """Be a user who may open /dev/net/tun, as on most systems."""
    device = folder / "dev"
    device.mkdir()
    sh("mount", "-t", "tmpfs", "none", str(device))
    os.mknod(device / "tun", stat.S_IFCHR, Path("/dev/net/tun").stat().st_rdev)
    (device / "tun").chmod(0o666)
    sh("mount", "--bind", str(device / "tun"), "/dev/net/tun")
    become(user, folder)


def main() -> None:
    """Be the machine."""
    folder, user = Path(sys.argv[1]), int(sys.argv[2])
    (folder / "resolv.conf").write_text("nameserver 127.0.0.53\n", encoding="ascii")
    sh("mount", "--bind", str(folder / "resolv.conf"), os.path.realpath("/etc/resolv.conf"))
    with (
        echoing("unshare", "--net", places=addresses(BEYOND)) as beyond,
        echoing(places=[*addresses(MACHINE), "127.0.0.1", "::1"]) as here,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names,
    ):
        while Path(f"/proc/{beyond.pid}/ns/net").samefile("/proc/self/ns/net"):
            time.sleep(0.01)
        connect(beyond.pid)
        for process in (beyond, here):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"begin\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"ready\n"
        names.bind(("127.0.0.53", 53))
        threading.Thread(target=serve_names, args=(names,), daemon=True).start()
        said = subprocess.check_output([sys.executable, "-c", PROBE, *PLACES])
        if user:
            become_with_tun(user, folder)
        found = {"machine": json.loads(said), **asyncio.run(look_from_sandbox(folder))}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
