"""An environment whose reward asks a server beside the gateway, and does not mind when it fails."""

import asyncio
import contextlib
import socket
import subprocess
import sys

import verifiers as vf

SERVE = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
"""
resolve = socket._socket.getaddrinfo


def named(host, port, *args):
    """Answers for the domain of documentation as a name server would."""
    if host.endswith(".example"):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", port))]
    return resolve(host, port, *args)


def ask(host, port):
    with contextlib.suppress(OSError):
        socket.create_connection((host, port), timeout=0.05).close()
    return 1.0


async def ask_later(host, port):
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.open_connection(host, port), 0.05)
    return 1.0


def ask_own_servers():
    with socket.create_server(("127.0.0.1", 0)) as here:
        ask(*here.getsockname())
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as child:
        port = int(child.stdout.readline())
        socket.create_connection(("127.0.0.1", port)).close()
        child.kill()
    return 1.0


def ask_in_a_program(port):
    code = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    return float(done.returncode == 0)


def load_environment(host="", port=0, by="socket"):
    socket._socket.getaddrinfo = named
    ways = {
        "socket": lambda state: ask(host, port),
        "asyncio": lambda state: ask_later(host, port),
        "program": lambda state: ask_in_a_program(port),
        "own": lambda state: ask_own_servers(),
    }
    prompt = [{"role": "user", "content": "hello"}]
    rows = [{"prompt": prompt, "answer": "hello", "info": {}} for _ in range(2)]
    return vf.Environment(rows, vf.Rubric([ways[by]]))
