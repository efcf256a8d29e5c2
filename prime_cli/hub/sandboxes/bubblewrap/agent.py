"""Runs commands inside a sandbox for the supervisor: the only program of ours in there.

Started by the sandbox's own Python (3.9 or later, standard library) with the descriptor of an
inherited socket and when to end, in seconds since the epoch. Requests are JSON datagrams with the
ends of the command's stdio beside them, so no byte of output passes through here; answers are
`{"id", "pid"}` and `{"id", "code"}`. With a port it first hands out a socket that listens there, on
the sandbox's own loopback. Whoever kills this process ends the sandbox, and nothing else.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any

_LARGEST = 1 << 18


if sys.platform == "win32":
    sys.exit("bubblewrap exists only on Linux")


class Agent:
    """The commands that run."""

    def __init__(self, control: socket.socket, stop_at: float) -> None:
        self.control = control
        self.stop_at = stop_at
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.wake, waker = os.pipe()
        os.set_blocking(waker, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def tell(self, **message: Any) -> None:
        self.control.send(json.dumps(message).encode())

    def serve(self) -> None:
        while True:
            left = self.stop_at - time.time()
            control = self.control.fileno()
            ready, _, _ = select.select([control, self.wake], [], [], max(0, min(left, 60)))
            if time.time() >= self.stop_at:
                return
            if self.wake in ready:
                os.read(self.wake, 4096)
                self.reap()
            if control in ready:
                data, fds, _, _ = socket.recv_fds(self.control, _LARGEST, 3)
                if not data:
                    return
                self.answer(json.loads(data), fds)

    def answer(self, ask: dict[str, Any], fds: list[int]) -> None:
        if "argv" in ask:
            self.start(ask, fds)
        elif ask["kill"] in self.children:
            with contextlib.suppress(OSError):
                os.killpg(self.children[ask["kill"]].pid, ask["signal"])

    def start(self, ask: dict[str, Any], fds: list[int]) -> None:
        try:
            child = subprocess.Popen(
                ask["argv"],
                stdin=fds[0],
                stdout=fds[1],
                stderr=fds[2],
                cwd=ask["cwd"],
                env=ask["env"],
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.write(fds[2], f"{error}\n".encode())
            missing = isinstance(error, FileNotFoundError)
            self.tell(id=ask["id"], code=127 if missing else 126)
        else:
            self.children[ask["id"]] = child
            self.tell(id=ask["id"], pid=child.pid)
        finally:
            for fd in fds:
                os.close(fd)

    def reap(self) -> None:
        for key, child in list(self.children.items()):
            if child.poll() is not None:
                del self.children[key]
                code = child.returncode
                self.tell(id=key, code=code if code >= 0 else 128 - code)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    port = int(sys.argv[3])
    agent = Agent(control, float(sys.argv[2]))
    ready = json.dumps({"id": 0, "pid": os.getpid()}).encode()
    if port:
        with socket.create_server(("127.0.0.1", port), backlog=64) as listener:
            socket.send_fds(control, [ready], [listener.fileno()])
    else:
        control.send(ready)
    agent.serve()


main()
