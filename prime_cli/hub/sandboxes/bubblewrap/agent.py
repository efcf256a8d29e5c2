"""Runs commands inside a sandbox for the supervisor: the only program of ours in there.

Started by the sandbox's own Python (3.9 or later) with the descriptor of an inherited socket and
when to end, in seconds since the epoch. Requests are marshalled datagrams with the ends of the
command's stdio beside them, so no byte of output passes through here; answers are JSON,
`{"id", "pid"}` and `{"id", "code"}`. With a port it first hands out a socket that listens there, on
the sandbox's own loopback. Whoever kills this process ends the sandbox, and nothing else.

It imports only what is written in C, and comes compiled: to read this text, and Python's `os`,
`json`, `subprocess` and `socket`, took more of a start than all the rest.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import posix
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 1 << 18
_FD = 4
"""Bytes of a descriptor in a control message."""
_ENOENT = 2
_PROCESSES = 1024
_OWN_COUNT_SINCE = (5, 14)
"""The version of Linux from which processes are counted for each user namespace."""


if sys.platform != "linux":
    sys.exit("bubblewrap exists only on Linux")


class Agent:
    """The commands that run."""

    def __init__(self, control: _socket.socket, stop_at: float) -> None:
        self.control = control
        self.stop_at = stop_at
        self.children: dict[int, int] = {}
        """The processes by the number of their request."""
        self.wake, waker = posix.pipe()
        posix.set_blocking(waker, False)
        posix.set_blocking(self.wake, False)
        _signal.set_wakeup_fd(waker)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)

    def tell(self, key: int, what: str, value: int) -> None:
        self.control.send(b'{"id": %d, "%b": %d}' % (key, what.encode(), value))

    def serve(self) -> None:
        while True:
            left = self.stop_at - time.time()
            control = self.control.fileno()
            ready, _, _ = select.select([control, self.wake], [], [], max(0, min(left, 60)))
            if time.time() >= self.stop_at:
                return
            if self.wake in ready:
                posix.read(self.wake, 4096)
                self.reap()
            if control in ready:
                data, fds = receive(self.control)
                if not data:
                    return
                self.answer(marshal.loads(data), fds)  # noqa: S302 - of the supervisor

    def answer(self, ask: "dict[str, Any]", fds: "list[int]") -> None:
        if "argv" in ask:
            self.start(ask, fds)
            return
        pid = self.children.get(ask["kill"])
        if pid is not None:
            try:  # noqa: SIM105 - importing contextlib takes time
                posix.killpg(pid, ask["signal"])
            except OSError:
                pass

    def start(self, ask: "dict[str, Any]", fds: "list[int]") -> None:
        key = ask["id"]
        try:
            pid = posix.fork()
        except OSError as error:
            posix.write(fds[2], f"{error}\n".encode())
            self.tell(key, "code", 126)
        else:
            if not pid:
                become(ask, fds)
            self.children[key] = pid
            self.tell(key, "pid", pid)
        finally:
            for fd in fds:
                posix.close(fd)

    def reap(self) -> None:
        for key, child in list(self.children.items()):
            pid, status = posix.waitpid(child, posix.WNOHANG)
            if pid:
                del self.children[key]
                code = posix.waitstatus_to_exitcode(status)
                self.tell(key, "code", code if code >= 0 else 128 - code)


def become(ask: "dict[str, Any]", fds: "list[int]") -> None:
    """Make this new process the command; never returns."""
    code = 126
    try:
        posix.setsid()
        for number, fd in enumerate(fds):
            posix.dup2(fd, number)
        # Python ignores these, and what it starts would.
        for name in ("SIGPIPE", "SIGXFSZ"):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
        posix.chdir(ask["cwd"])
        argv: list[str] = ask["argv"]
        execute(argv, ask["env"])
    except (OSError, ValueError) as error:
        posix.write(2, f"{error}\n".encode())
        code = 127 if isinstance(error, FileNotFoundError) else 126
    finally:
        posix._exit(code)  # noqa: SLF001 - its name


def execute(argv: "list[str]", env: "dict[str, str]") -> None:
    """Replace this process by a program, found on PATH as by `os.execvpe`; raises OSError."""
    program, refusal = argv[0], None
    if "/" in program:
        posix.execve(program, argv, env)
    for folder in env.get("PATH", "/usr/bin:/bin").split(":"):
        try:
            posix.execve(f"{folder or '.'}/{program}", argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refusal = refusal or error
    raise refusal or FileNotFoundError(_ENOENT, "No such file or directory", program)


def receive(control: _socket.socket) -> "tuple[bytes, list[int]]":
    """A datagram and its descriptors, which no command inherits."""
    room = _socket.CMSG_SPACE(3 * _FD)
    data, found, _, _ = control.recvmsg(_LARGEST, room, _socket.MSG_CMSG_CLOEXEC)
    bodies = b"".join(body for _, kind, body in found if kind == _socket.SCM_RIGHTS)
    starts = range(0, len(bodies) - len(bodies) % _FD, _FD)
    return data, [int.from_bytes(bodies[at : at + _FD], sys.byteorder) for at in starts]


def hold_processes() -> None:
    """Bound the processes of this namespace, where no control group may; not those of root.

    An earlier Linux would count all of the user's, also outside.
    """
    import resource

    version = tuple(int(part) for part in posix.uname().release.split(".")[:2] if part.isdigit())
    if version >= _OWN_COUNT_SINCE:
        try:  # noqa: SIM105 - importing contextlib takes time
            resource.setrlimit(resource.RLIMIT_NPROC, (_PROCESSES, _PROCESSES))
        except (OSError, ValueError):
            pass


def main() -> None:
    control = _socket.socket(fileno=int(sys.argv[1]))
    posix.set_inheritable(control.fileno(), False)  # noqa: FBT003 - its only form
    hold_processes()
    port = int(sys.argv[3])
    agent = Agent(control, float(sys.argv[2]))
    ready = b'{"id": 0, "pid": %d}' % posix.getpid()
    if port:
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        fd = listener.fileno().to_bytes(_FD, sys.byteorder)
        control.sendmsg([ready], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd)])
        listener.close()
    else:
        control.send(ready)
    agent.serve()


main()
