"""Runs commands inside a sandbox for the supervisor: the only program of ours in there.

Started by a Python inside (3.9 or later) with the descriptor of an inherited socket, when
to end in seconds since the epoch, and two numbers that may be 0: a port, and how many processes it
is to allow. Requests are marshalled datagrams with the ends of the command's stdio beside them, so
no byte of output passes through here; the answer is JSON, `{"id", "code"}`. With a port it first
hands out a socket that listens there, on the sandbox's own loopback. Whoever kills this process
ends the sandbox, and nothing else.

It imports only what is written in C, and comes compiled: to read this text, and Python's `os`,
`json`, `subprocess` and `socket`, took more of a start than all the rest.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import marshal
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 1 << 18
_FD = 4
"""Bytes of a descriptor in a control message."""
_LONGEST = 2**31 - 1
"""Seconds that an alarm takes; a clock of tests is a century ahead."""
_ENOENT = 2


if sys.platform != "linux":
    sys.exit("bubblewrap exists only on Linux")


class Agent:
    """The commands that run."""

    def __init__(self, control: _socket.socket) -> None:
        self.control = control
        self.children: dict[int, int] = {}
        """The numbers of the requests by their processes; none has been reaped."""
        self.changing = _thread.allocate_lock()
        self.home = posix.open(".", posix.O_RDONLY)
        self.started, self.starting = posix.pipe()
        """A byte for each process that is to be waited for."""
        # Not by a signal: one that comes just before a message is awaited does not interrupt that.
        _thread.start_new_thread(self.reap, ())

    def tell(self, key: int, code: int) -> None:
        try:  # noqa: SIM105 - importing contextlib takes time
            self.control.send(b'{"id": %d, "code": %d}' % (key, code))
        except ConnectionError:
            pass  # The supervisor hung up, which `serve` finds too.

    def serve(self) -> None:
        while True:
            try:
                data, fds = receive(self.control)
            except ConnectionError:
                return  # The supervisor hung up, and left something unread.
            if not data:
                return
            self.answer(marshal.loads(data), fds)  # noqa: S302 - of the supervisor

    def answer(self, ask: "dict[str, Any]", fds: "list[int]") -> None:
        if "argv" in ask:
            self.start(ask, fds)
            return
        with self.changing:
            for pid, key in self.children.items():
                if key == ask["kill"]:
                    try:  # noqa: SIM105 - importing contextlib takes time
                        posix.killpg(pid, ask["signal"])
                    except OSError:
                        pass

    def start(self, ask: "dict[str, Any]", fds: "list[int]") -> None:
        key = ask["id"]
        try:
            # Of this process: what it starts takes it over, and a relative one begins at home.
            posix.fchdir(self.home)
            posix.chdir(ask["cwd"])
            with self.changing:
                if not self.children:
                    reap_siblings()
                self.children[spawn(ask["argv"], ask["env"], fds)] = key
            posix.write(self.starting, b".")
        except (OSError, ValueError) as error:
            complain(fds[2], error)
            self.tell(key, 127 if isinstance(error, FileNotFoundError) else 126)
        finally:
            for fd in fds:
                posix.close(fd)

    def reap(self) -> None:
        """Tell of those that end, in a thread; the agent ends when that fails, not to hang."""
        try:
            while posix.read(self.started, 1):
                while not self.reap_one():
                    pass
        finally:
            # As when a command writes to its pipe, which any can.
            posix._exit(1)  # noqa: SLF001 - public, as `os._exit` is

    def reap_one(self) -> bool:
        """Wait for a process; whether it was started here, and not by a command as its sibling."""
        # Without WNOHANG it is never None, as its type says.
        ended: Any = posix.waitid(posix.P_ALL, 0, posix.WEXITED | posix.WNOWAIT)
        with self.changing:
            try:
                pid, status = posix.waitpid(ended.si_pid, posix.WNOHANG)
            except ChildProcessError:
                # It could not execute its program, and `spawn`, which tries the next, reaped it.
                return False
            if posix.WIFSTOPPED(status):
                # It asked to be traced, by which its parent is meant: nobody would let it go on.
                posix.kill(pid, _signal.SIGKILL)
                return False
            key = self.children.pop(pid, None)
        if key is not None:
            code = posix.waitstatus_to_exitcode(status)
            self.tell(key, code if code >= 0 else 128 - code)
        return key is not None


def reap_siblings() -> None:
    """Reap those that commands made their siblings, which count as processes until then.

    While a command runs, the thread that waits for it does that too.
    """
    try:
        while posix.waitpid(-1, posix.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def spawn(argv: "list[str]", env: "dict[str, str]", fds: "list[int]") -> int:
    """Start a program with `fds` as its stdio; raises OSError.

    In a group of its own, which can be killed. Not by a fork, which copies all of this process.
    """
    stdio = [(posix.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)]
    refusal = None
    for path in places(argv[0], env):
        try:
            # Python ignores these signals, and what it starts would.
            return posix.posix_spawn(
                path,
                argv,
                env,
                file_actions=stdio,
                setpgroup=0,
                setsigdef=[_signal.SIGPIPE, _signal.SIGXFSZ],
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refusal = refusal or error
    raise refusal or FileNotFoundError(_ENOENT, "No such file or directory", argv[0])


def complain(fd: int, error: Exception) -> None:
    """Say on the command's stderr why it was not started, unless nobody reads that any more."""
    said = str(error)
    if isinstance(error, OSError) and error.filename:
        said = f"{error.filename}: {error.strerror}"
    try:  # noqa: SIM105 - importing contextlib takes time
        posix.write(fd, f"{said}\n".encode(errors="replace"))
    except OSError:
        pass


def places(program: str, env: "dict[str, str]") -> "list[str]":
    """Where a program may be: on PATH unless it names a folder, as by `os.execvpe`."""
    if "/" in program:
        return [program]
    folders = env.get("PATH", "/usr/bin:/bin").split(":")
    return [f"{folder or '.'}/{program}" for folder in folders]


def receive(control: _socket.socket) -> "tuple[bytes, list[int]]":
    """A datagram and its descriptors, which no command inherits."""
    room = _socket.CMSG_SPACE(3 * _FD)
    data, found, _, _ = control.recvmsg(_LARGEST, room, _socket.MSG_CMSG_CLOEXEC)
    bodies = b"".join(body for _, kind, body in found if kind == _socket.SCM_RIGHTS)
    starts = range(0, len(bodies) - len(bodies) % _FD, _FD)
    return data, [int.from_bytes(bodies[at : at + _FD], sys.byteorder) for at in starts]


def hold_processes(most: int) -> None:
    """Bound the processes of this namespace, where no control group may."""
    import resource

    try:  # noqa: SIM105 - importing contextlib takes time
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    except (OSError, ValueError):
        pass


def take_signals() -> None:
    """Let each signal do here, and in commands, what it usually does.

    Whoever started the supervisor may ignore or block some: the alarm would end nothing, how a
    command ended would be forgotten, and commands could not be interrupted.
    """
    kept = (_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGPIPE, _signal.SIGXFSZ)
    for number in _signal.valid_signals() - set(kept):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def main() -> None:
    control = _socket.socket(fileno=int(sys.argv[1]))
    posix.set_inheritable(control.fileno(), False)  # noqa: FBT003 - its only form
    port, most = int(sys.argv[3]), int(sys.argv[4])
    if most:
        hold_processes(most)
    take_signals()
    # Ends this process also while nobody asks it for anything, or can.
    _signal.alarm(min(_LONGEST, max(1, round(float(sys.argv[2]) - time.time()))))
    agent = Agent(control)
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
