"""A sandbox in a pod: the commands that are started in it, and its end.

A command is frames of a WebSocket, of which the first byte is the channel.
https://kubernetes.io/docs/reference/using-api/api-concepts/ and KEP 4006: 0 is stdin, 1 stdout,
2 stderr, 3 a `Status` when it has ended, and in version 5 255 closes the channel that follows.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import aiohttp
import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.sandboxes.kubernetes.client import PROTOCOLS, Cluster
from prime_cli.hub.sandboxes.kubernetes.manifests import USER
from prime_cli.hub.sandboxes.kubernetes.objects import Status
from prime_cli.hub.sandboxes.kubernetes.settings import ROOT
from prime_cli.hub.sandboxes.kubernetes.states import describe_end, is_over
from prime_cli.hub.sandboxes.kubernetes.watch import PodFeed
from prime_cli.hub.sandboxes.output import Pipe
from prime_cli.hub.sandboxes.provider import ENTER, LONGEST_COMMAND, End, ExecSpec

_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_LARGEST_FRAME = 32 * 1024
_KILLED = 137
_LONGEST_PID = 12
_LONGEST_CODE = 4
_PID_SECONDS = 5.0
_LOST = b"prime: the connection to the cluster ended before the command did\n"

_SCRIPT = (
    "trap : HUP INT QUIT TERM USR1 USR2; "
    "printf '%s\\n' \"$$\"; end=$1; shift; "
    f'[ -z "$1" ] || {ENTER}; shift; '
    'PATH="$HOME/.local/bin:$PATH"; export PATH; env -- "$@"; '
    "printf '%s%s\\n' \"$end\" $? >&2"
)
"""Says its number, by which its group can be signalled, runs the command, and says how it ended.

The cluster says that only when nobody holds the output open, as what is left in the background may.
"""

_EXEC = 'case $1 in -*) printf "sh: %s: not found\n" "$1" >&2; exit 127;; esac; exec "$@"'
"""Becomes the command, whatever its first word is: `env` takes `A=b` for a variable, and `exec`
takes `-c` for an option of its own.
"""

_Kill = Callable[[int, int], Awaitable[None]]
_KILL_SECONDS = 20.0

Remove = Callable[[], Awaitable[None]]


class PodInput:
    """The stdin of a command."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._queued: list[bytes] = []
        self._closing: asyncio.Task[None] | None = None

    def write(self, data: bytes, /) -> None:
        """As `Writable.write`."""
        self._queued.append(data)

    async def drain(self) -> None:
        """As `Writable.drain`."""
        data, self._queued = b"".join(self._queued), []
        try:
            for at in range(0, len(data), _LARGEST_FRAME):
                await self._socket.send_bytes(bytes([_STDIN]) + data[at : at + _LARGEST_FRAME])
        except (OSError, RuntimeError, aiohttp.ClientError) as error:
            raise ConnectionResetError("The command reads no more") from error

    def close(self) -> None:
        """As `Writable.close`."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())

    async def _close(self) -> None:
        with suppress(OSError, RuntimeError, aiohttp.ClientError):
            await self.drain()
            await self._socket.send_bytes(bytes([_CLOSE, _STDIN]))


def wrap(end: str, spec: ExecSpec) -> tuple[str, ...]:
    """The words that run a command in a pod; `end` is what comes before its exit code."""
    variables = [f"{name}={value}" for name, value in spec.env.items()]
    command = ("/bin/sh", "-c", _EXEC, "sh", *spec.argv)
    return ("/bin/sh", "-c", _SCRIPT, "sh", end, spec.cwd or "", *variables, *command)


def _new_end() -> str:
    """What no command prints by chance. One that looks for it can only lie about itself."""
    return f"prime-end-{secrets.token_hex(8)}:"


class PodCommand:
    """A command that `wrap` has made with `end`; see `RunningCommand`.

    `kill` signals a process of the pod by its number; `is_gone` is whether the pod has ended.
    """

    def __init__(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        kill: _Kill,
        is_gone: Callable[[], bool],
        *,
        end: str,
        stdin: bool,
    ) -> None:
        self.stdout, self.stderr = Pipe(), Pipe()
        self.stdin = PodInput(socket) if stdin else None
        self._socket, self._kill, self._is_gone = socket, kill, is_gone
        loop = asyncio.get_running_loop()
        self._code: asyncio.Future[int] = loop.create_future()
        self._pid: asyncio.Future[int | None] = loop.create_future()
        self._first = b""
        self._end = EndScanner(end.encode())
        self._reading = asyncio.create_task(self._read())

    async def wait(self) -> int:
        """As `RunningCommand.wait`."""
        return await asyncio.shield(self._code)

    async def signal(self, number: int) -> None:
        """As `RunningCommand.signal`, by a program inside."""
        pid = None
        with suppress(TimeoutError):
            pid = await asyncio.wait_for(asyncio.shield(self._pid), _PID_SECONDS)
        if pid is not None and not self._code.done():
            await self._kill(pid, number)

    def close(self) -> None:
        """As `RunningCommand.close`."""
        self._reading.cancel()
        self._closing = asyncio.create_task(self._close())

    async def _close(self) -> None:
        with suppress(OSError, RuntimeError, aiohttp.ClientError):
            await self._socket.close()
        self._settle(_KILLED)

    async def _read(self) -> None:
        with suppress(OSError, RuntimeError, aiohttp.ClientError):
            async for message in self._socket:
                if message.type is aiohttp.WSMsgType.BINARY and message.data:
                    await self._take(message.data[0], message.data[1:])
        if not self._code.done() and not self._is_gone():
            await self.stderr.put(_LOST)
        self._settle(_KILLED)
        for each in (self.stdout, self.stderr):
            await each.put(b"")

    async def _take(self, channel: int, data: bytes) -> None:
        if channel == _STATUS:
            code, why = read_status(data)
            if self._end.held:
                await self.stderr.put(self._end.held)
            if why and not self._code.done():
                await self.stderr.put(f"prime: {why}\n".encode())
            self._settle(code)
        elif channel == _STDOUT and not self._pid.done():
            await self._take_pid(data)
        elif channel == _STDOUT and data:
            await self.stdout.put(data)
        elif channel == _STDERR:
            rest, found = self._end.scan(data)
            if rest:
                await self.stderr.put(rest)
            if found is not None:
                self._settle(found)

    async def _take_pid(self, data: bytes) -> None:
        """The first line of the output, which is ours."""
        line, newline, rest = (self._first + data).partition(b"\n")
        if not newline and len(line) < _LONGEST_PID:
            self._first = line
            return
        number = line.strip()[:_LONGEST_PID]
        self._pid.set_result(int(number) if number.isdigit() else None)
        if rest:
            await self.stdout.put(rest)

    def _settle(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)
        if not self._pid.done():
            self._pid.set_result(None)


class EndScanner:
    """Finds the exit code behind a mark in a stream; `held` is what may be the begin of it."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self.held = b""

    def scan(self, data: bytes) -> tuple[bytes, int | None]:
        """What of the stream is the command's, and its exit code once it is there."""
        text, self.held = self.held + data, b""
        before, mark, after = text.partition(self._mark)
        if mark:
            code, newline, rest = after.partition(b"\n")
            if newline and code.isdigit():
                return before + rest, int(code[:4]) & 0xFF
            if not newline and len(code) < _LONGEST_CODE:
                self.held = mark + after
                return before, None
            return text, None
        size = min(len(self._mark) - 1, len(text))
        while size and not text.endswith(self._mark[:size]):
            size -= 1
        self.held = text[len(text) - size :]
        return text[: len(text) - size], None


def read_status(data: bytes) -> tuple[int, str | None]:
    """The exit code in a `Status`, and why there is none: then the code is 126."""
    try:
        status = msgspec.json.decode(data, type=Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return 126, "the cluster did not say how the command ended"
    if status.status == "Success":
        return 0, None
    for cause in status.details.causes if status.details else []:
        if cause.reason == "ExitCode" and (cause.message or "").isdigit():
            return int(cause.message or "") & 0xFF, None
    return 126, status.message[:500] or "the cluster did not say how the command ended"


class PodSandbox:
    """The pod that `feed` follows; `remove` removes everything of it from the cluster."""

    def __init__(self, cluster: Cluster, feed: PodFeed, pod_name: str, remove: Remove) -> None:
        self.facts: Mapping[str, str] = {}
        self._cluster, self._feed, self._pod_name = cluster, feed, pod_name
        self._remove = remove

    @property
    def is_gone(self) -> bool:
        """As `RunningSandbox.is_gone`."""
        pod = self._feed.pod
        return self._feed.is_deleted or pod is None or is_over(pod)

    async def run(self, command: ExecSpec) -> PodCommand:
        """As `RunningSandbox.run`."""
        if sum(map(len, command.argv)) > LONGEST_COMMAND:
            raise UsageError(
                f"The command is longer than {LONGEST_COMMAND} characters",
                hint="upload a file, and run that",
            )
        self._require_user(command.user)
        if self.is_gone:
            raise NotFound("The sandbox has ended")
        socket, end = await self._start(command)
        if command.stdin and socket.protocol != PROTOCOLS[0]:
            await socket.close()
            raise UsageError(
                "The cluster cannot end the input of a command, nor take files",
                hint="this needs Kubernetes 1.30 or later",
            )
        return self._command(socket, end, stdin=command.stdin)

    async def gone(self) -> End:
        """As `RunningSandbox.gone`."""
        while not self.is_gone:
            await self._feed.change()
        return describe_end(
            None if self._feed.is_deleted and not self._has_end() else self._feed.pod
        )

    async def end(self) -> None:
        """As `RunningSandbox.end`."""
        await self._remove()

    async def _start(self, command: ExecSpec) -> tuple[aiohttp.ClientWebSocketResponse, str]:
        end = _new_end()
        argv = wrap(end, command)
        return await self._cluster.execute(self._pod_name, argv, stdin=command.stdin), end

    def _command(
        self, socket: aiohttp.ClientWebSocketResponse, end: str, *, stdin: bool
    ) -> PodCommand:
        return PodCommand(socket, self._kill, lambda: self.is_gone, end=end, stdin=stdin)

    def _has_end(self) -> bool:
        return self._feed.pod is not None and is_over(self._feed.pod)

    async def _kill(self, pid: int, number: int) -> None:
        """Signal a group of processes, else the process alone; dash takes no `--`."""
        line = f"kill -{number} -{pid} 2>/dev/null || kill -{number} {pid}"
        socket, end = await self._start(ExecSpec(("/bin/sh", "-c", line)))
        killing = self._command(socket, end, stdin=False)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(killing.wait(), _KILL_SECONDS)
        finally:
            killing.close()

    def _require_user(self, user: str | None) -> None:
        settings = self._cluster.settings
        own = ("root", "0") if settings.root else (str(USER),)
        if user and user not in own:
            raise UsageError(
                f"Commands in a pod run as user {own[-1]}, not as `{user[:80]}`",
                hint=f"{ROOT}=1 makes it root, in a user namespace of the pod"
                if user in ("root", "0")
                else "the provider `engine` (Podman or Docker) has the users of its image",
            )
