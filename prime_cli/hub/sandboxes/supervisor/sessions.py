"""Command sessions: commands whose output is a stream, which may be let go of and taken up again.

A session with a uuid outlives its connection: output waits for the next one, and the command waits
when too much does. How it ended is kept for a while.
"""

import asyncio
import itertools
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import suppress
from weakref import WeakValueDictionary

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.hub.sandboxes.output import kill, merged
from prime_cli.hub.sandboxes.provider import ExecSpec, RunningCommand, RunningSandbox
from prime_cli.wire import command_sessions as messages
from prime_cli.wire.command_sessions import (
    CommandSpec,
    InputRequest,
    Selector,
    SignalRequest,
    StartRequest,
)

_RETAINED_SECONDS = 300.0
_KEEPALIVE_SECONDS = 15.0
_WAITING = 64
_MOST_KEYS = 1000
_MOST_SESSIONS = 200


class CommandSession:
    """One command, and its output that nobody has read yet."""

    def __init__(self, pid: int, request: StartRequest, command: RunningCommand) -> None:
        self.pid = pid
        self.request = request
        self.command = command
        self.code: int | None = None
        self.ended_at: float | None = None
        self._output: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue(_WAITING)
        self._reader: asyncio.Task[object] | None = None
        self._keys: OrderedDict[str, None] = OrderedDict()
        self._pump = asyncio.create_task(self._read())

    @property
    def name(self) -> str:
        return self.request.session or ""

    def is_new(self, key: str | None) -> bool:
        """Whether a request with this key comes for the first time."""
        if key is None:
            return True
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > _MOST_KEYS:
            self._keys.popitem(last=False)
        return True

    async def events(self) -> AsyncIterator[bytes]:
        """The events of a stream, from now on; who reads it already is let go of."""
        if self._reader is not None:
            self._reader.cancel()
        self._reader = asyncio.current_task()
        yield messages.started(self.pid)
        while True:
            try:
                # Not `wait_for`: of a command that never pauses, it lost the end of the time.
                async with asyncio.timeout(_KEEPALIVE_SECONDS):
                    item = await self._output.get()
            except TimeoutError:
                yield messages.keepalive()
                continue
            if item is None:
                # For whoever attaches later.
                self._output.put_nowait(None)
                yield messages.ended(self.code or 0)
                return
            yield messages.output(*item)

    async def stop(self) -> None:
        """Kill the command, and forget what it said."""
        if self.code is None:
            await kill(self.command)
        self._pump.cancel()
        with suppress(asyncio.CancelledError):
            await self._pump
        self.command.close()

    async def _read(self) -> None:
        try:
            async for item in merged(self.command):
                await self._output.put(item)
            self.code = await self.command.wait()
        finally:
            self.ended_at = time.monotonic()
            self.command.close()
        await self._output.put(None)


class CommandSessions:
    """The sessions of one sandbox."""

    def __init__(self) -> None:
        self._found: dict[int, CommandSession] = {}
        self._pids = itertools.count(2)
        self._starting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By uuid: a start that is sent again while the first is on its way."""

    async def start(self, sandbox: RunningSandbox, request: StartRequest) -> CommandSession:
        """Start a command, or find the session with its uuid.

        Raises UsageError for a terminal or too many sessions, Conflict for another command under a
        known uuid, and what the sandbox raises.
        """
        if request.pty:
            raise UsageError("A sandbox of this hub has no terminals")
        self._forget_old()
        if request.session is None:
            return await self._start(sandbox, request)
        async with self._starting.setdefault(request.session, asyncio.Lock()):
            for each in self._found.values():
                if each.request.session == request.session:
                    if each.request.command != request.command:
                        raise Conflict("This session runs another command")
                    return each
            return await self._start(sandbox, request)

    async def _start(self, sandbox: RunningSandbox, request: StartRequest) -> CommandSession:
        if sum(each.code is None for each in self._found.values()) >= _MOST_SESSIONS:
            raise UsageError(f"The sandbox has {_MOST_SESSIONS} sessions already")
        spec = request.command
        exec_spec = ExecSpec(spec.argv, spec.env, spec.cwd, spec.user, stdin=request.stdin)
        command = await sandbox.run(exec_spec)
        session = CommandSession(next(self._pids), request, command)
        self._found[session.pid] = session
        return session

    async def find(self, selector: Selector) -> CommandSession:
        """The session, also of a start that is still on its way; raises NotFound."""
        starting = self._starting.get(selector.session or "")
        if starting is not None:
            async with starting:
                pass
        self._forget_old()
        for each in self._found.values():
            if selector.session is not None:
                if each.request.session == selector.session:
                    return each
            elif each.pid == selector.pid:
                return each
        raise NotFound("There is no such session in the sandbox")

    async def send_input(self, request: InputRequest) -> None:
        """Write to a command, once for each key; nothing ends its stdin.

        Raises NotFound, UsageError.
        """
        session = await self.find(request.selector)
        stdin = session.command.stdin
        if stdin is None:
            raise UsageError("The session was started without stdin")
        if session.code is not None:
            raise NotFound("The session has ended")
        if not request.data:
            stdin.close()
        elif session.is_new(request.key):
            with suppress(ConnectionError):
                stdin.write(request.data)
                await stdin.drain()
                if request.closes:
                    stdin.close()

    async def send_signal(self, request: SignalRequest) -> None:
        """Signal a command; once for each key. Raises NotFound."""
        session = await self.find(request.selector)
        if session.code is None and session.is_new(request.key):
            await session.command.signal(request.signal)

    def running(self) -> list[tuple[int, str, CommandSpec]]:
        """Pid, uuid and command of what runs."""
        return [
            (each.pid, each.name, each.request.command)
            for each in self._found.values()
            if each.code is None
        ]

    async def close(self, session: CommandSession) -> None:
        """Stop a session that nobody can take up again."""
        self._found.pop(session.pid, None)
        await session.stop()

    async def end(self) -> None:
        """Stop all: the sandbox has ended, and nobody can ask for them any more."""
        for session in list(self._found.values()):
            await self.close(session)

    def _forget_old(self) -> None:
        now = time.monotonic()
        for pid, each in list(self._found.items()):
            if each.ended_at is not None and now - each.ended_at > _RETAINED_SECONDS:
                del self._found[pid]
