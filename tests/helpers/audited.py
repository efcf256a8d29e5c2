"""What this process opens and starts, by the names of Python's audit events.

`sys.addaudithook` would tell the same, but its hooks stay for good, and with one, CPython 3.11 now
and then fails to start a thread while coverage is measured: "Cannot install a trace function while
another trace function is being installed". So the functions that raise these events are replaced.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

Hear = Callable[[str, tuple[Any, ...]], None]

_LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyaddr")
_STREAMS = ("connect", "connect_ex")


@contextmanager
def sockets_heard(hear: Hear) -> Iterator[None]:
    """Calls `hear` before an address is looked up or something is sent to one."""

    def send_to(own: socket.socket, data: Any, *where: Any) -> Any:
        hear("socket.sendto", (own, where[-1]))
        return real_send_to(own, data, *where)

    def send_message(own: socket.socket, buffers: Any, *more: Any) -> Any:
        hear("socket.sendmsg", (own, more[2] if len(more) > 2 else None))
        return real_send_message(own, buffers, *more)

    real_send_to, real_send_message = socket.socket.sendto, socket.socket.sendmsg
    with pytest.MonkeyPatch.context() as patch:
        for name in _LOOKUPS:
            real = getattr(socket, name)
            patch.setattr(socket, name, _told(hear, f"socket.{name}", real))
        for name in _STREAMS:
            real = getattr(socket.socket, name)
            patch.setattr(socket.socket, name, _told(hear, "socket.connect", real))
        patch.setattr(socket.socket, "sendto", send_to)
        patch.setattr(socket.socket, "sendmsg", send_message)
        yield


@contextmanager
def programs_heard(hear: Hear) -> Iterator[None]:
    """Calls `hear` before a program is started, also by way of asyncio."""

    def execute(own: Any, words: Any, executable: Any, *more: Any) -> None:
        # As in `Popen.__init__`: …, preexec_fn, close_fds, pass_fds, cwd, env.
        if isinstance(words, str | bytes | os.PathLike):
            words = [words]
        hear("subprocess.Popen", (executable or words[0], words, more[3], more[4]))
        real_execute(own, words, executable, *more)

    kind: Any = subprocess.Popen
    real_execute = kind._execute_child
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "_execute_child", execute)
        for name in ("execv", "execve", "posix_spawn", "system"):
            if hasattr(os, name):
                event = name if name in ("posix_spawn", "system") else "exec"
                patch.setattr(os, name, _told(hear, f"os.{event}", getattr(os, name)))
        yield


def _told(hear: Hear, event: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        hear(event, args)
        return real(*args, **kwargs)

    return call
