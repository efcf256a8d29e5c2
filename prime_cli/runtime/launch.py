"""Start a worker under an environment's interpreter, and communicate with it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from prime_cli.core.errors import EnvironmentFailed, InternalError, WorkerDied
from prime_cli.runtime.isolation.bubblewrap import Wrapped
from prime_cli.runtime.protocol import (
    Cancel,
    Event,
    OracleAsk,
    OracleReply,
    Order,
    WorkerEnd,
    WorkerSpec,
    decode_event,
    encode_message,
)
from prime_cli.runtime.variables import without_network
from prime_cli.runtime.worker_log import OnPrint, Scrub, WorkerLog

# One event holds a whole conversation; the worker shortens longer ones itself.
LONGEST_LINE = 64 * 1024 * 1024
SECONDS_TO_END = 5.0
_SIGNALLED = 128


class Isolation(Protocol):
    """What isolates a process: a Sandbox, or a NetworkNamespace."""

    @property
    def gateway_socket(self) -> Path | None:
        """The path of the gateway's socket inside."""

    def with_socket(self, socket: Path) -> Self:
        """The same, with access to the gateway."""

    def wrap(self, command: Sequence[str]) -> AbstractContextManager[Wrapped]:
        """`command`, isolated, to be started once within the context."""

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` as valid inside."""


class Worker:
    """A worker process: `async with Worker(...) as worker`, then `worker.events()`.

    `env` is the process's whole environment. Its output is appended to `log_path`, each line
    through `scrub`, and shown to `on_print`; with `terminal` it has this process's stdin, stdout
    and stderr instead, which are a terminal. With `walls` it runs isolated by them. Leaving the
    context ends the process and everything it started; so does the end of this process, which ends
    the messages to the worker.
    """

    def __init__(
        self,
        interpreter_python: Path,
        spec: WorkerSpec,
        *,
        env: Mapping[str, str],
        log_path: Path,
        scrub: Scrub = bytes,
        walls: Isolation | None = None,
        on_print: OnPrint | None = None,
        terminal: bool = False,
    ) -> None:
        self._terminal = terminal
        self._attributes: list[Any] | None = None
        self.interpreter_python = interpreter_python
        self.spec = spec
        self.env = dict(env)
        self.log_path = log_path
        self._walls = walls
        self._log = WorkerLog(log_path, scrub, on_print)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._control: asyncio.WriteTransport | None = None
        self._questions: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next_question = 0
        self._ended = False

    @property
    def pid(self) -> int:
        """The process id; only within the context."""
        return self._running().pid

    @property
    def last_print(self) -> str:
        """The last line that it printed."""
        return self._log.last

    async def __aenter__(self) -> Self:
        if sys.platform == "win32":
            # Windows passes handles differently (STARTUPINFO.lpAttributeList): support would go
            # here, and into `Events` and `Control` of the worker.
            raise EnvironmentFailed(
                "Evaluations need a POSIX system for now", hint="on Windows, use WSL"
            )
        await self._log.open()
        events, theirs_to_write = os.pipe()
        theirs_to_read, control = os.pipe()
        try:
            self._process = await self._start(
                (theirs_to_write, theirs_to_read), self._log.descriptor
            )
        except BaseException:
            os.close(events)
            os.close(control)
            await self._log.close()
            raise
        finally:
            os.close(theirs_to_write)
            os.close(theirs_to_read)
            self._log.started()
        try:
            await self._connect(events, control)
        except BaseException:
            await self._end()
            raise
        self._send(self.spec)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    async def events(self) -> AsyncIterator[Event]:
        """The worker's events up to End; raises WorkerDied if it dies without one.

        Answers of the oracle go to their callers instead.
        """
        while line := await self._read_line():
            try:
                event = decode_event(line)
            except msgspec.DecodeError as error:
                # The worker does not, but the environment's code can.
                raise EnvironmentFailed(
                    f"The environment's process wrote an invalid event: {error}",
                    hint=f"see {self.log_path}",
                ) from error
            if isinstance(event, OracleReply):
                self._answer(event)
                continue
            yield event
            if isinstance(event, WorkerEnd):
                self._ended = True
                return
        raise await self._death()

    async def cancel(self) -> None:
        """Ask for what is done so far; the events then end at stage "interrupted"."""
        self._send(Cancel())

    async def tell(self, order: Order) -> None:
        """Give an order to the worker; one that is gone hears nothing."""
        self._send(order)

    async def ask_oracle(
        self, example: int, messages: list[Any], tools: list[Any] | None = None
    ) -> dict[str, Any]:
        """The assistant message of the environment's own oracle; raises EnvironmentFailed when it
        raises. Somebody must be reading `events()` meanwhile.
        """
        self._next_question += 1
        question = OracleAsk(self._next_question, example, messages, tools or [])
        waiting = asyncio.get_running_loop().create_future()
        self._questions[question.id] = waiting
        try:
            self._send(question)
            message: dict[str, Any] = await waiting
            return message
        finally:
            self._questions.pop(question.id, None)

    async def _start(self, pipes: tuple[int, int], log: int) -> asyncio.subprocess.Process:
        script = Path(__file__).with_name("worker") / "__main__.py"
        python = str(self.interpreter_python)
        command = [python, "-I", "-X", "utf8", str(script), *map(str, pipes)]
        variables = self.env
        inside: AbstractContextManager[Wrapped] = contextlib.nullcontext(Wrapped(command))
        if self._walls is not None:
            inside = self._walls.wrap(command)
            variables = self._walls.variables(variables)
        elif self.spec.only_gateway:
            variables = without_network(variables)
        self._attributes = _terminal_attributes() if self._terminal else None
        output = None if self._terminal else log
        try:
            with inside as wrapped:
                return await asyncio.create_subprocess_exec(
                    *wrapped.words,
                    stdin=None if self._terminal else asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=variables,
                    pass_fds=(*pipes, *wrapped.pass_fds),
                    start_new_session=True,
                )
        except OSError as error:
            raise EnvironmentFailed(
                f"{self.interpreter_python} cannot be started: {error.strerror}",
                hint="delete its folder, then run the same command again to recreate it",
            ) from error

    async def _connect(self, events: int, control: int) -> None:
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=LONGEST_LINE)
        protocol = asyncio.StreamReaderProtocol(self._reader)
        pipe = os.fdopen(events, "rb", buffering=0)
        self._transport, _ = await loop.connect_read_pipe(lambda: protocol, pipe)
        outlet = os.fdopen(control, "wb", buffering=0)
        self._control, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, outlet)

    async def _read_line(self) -> bytes:
        if self._reader is None:
            raise _not_started()
        try:
            return await self._reader.readline()
        except ValueError as error:
            raise EnvironmentFailed(
                f"The environment's process sent more than {LONGEST_LINE >> 20} MiB at once",
                hint="make the environment's messages and answers shorter",
            ) from error

    def _send(self, message: WorkerSpec | Cancel | OracleAsk | Order) -> None:
        # A worker that is gone ends its events.
        if self._control is not None and not self._control.is_closing():
            self._control.write(encode_message(message))

    def _answer(self, reply: OracleReply) -> None:
        waiting = self._questions.get(reply.id)
        if waiting is None or waiting.done():
            return
        if reply.message is None:
            waiting.set_exception(EnvironmentFailed(f"The oracle failed: {reply.error}"))
        else:
            waiting.set_result(reply.message)

    def _forget_questions(self) -> None:
        for waiting in self._questions.values():
            if not waiting.done():
                waiting.set_exception(EnvironmentFailed("The environment's process is gone"))

    async def _death(self) -> WorkerDied:
        self._forget_questions()
        code = await self._running().wait()
        await self._log.drain(1.0)
        how = _how_it_died(code, sandboxed=self._walls is not None)
        return WorkerDied(
            f"The environment's process died ({how})",
            hint=f"see {self.log_path}",
            detail=_last_lines(self.log_path),
        )

    async def _end(self) -> None:
        process = self._running()
        self._forget_questions()
        if self._control is not None and not self._ended:
            self._control.close()
        try:
            await asyncio.wait_for(process.wait(), SECONDS_TO_END)
        except TimeoutError:
            pass  # time is up: the whole group is killed below
        finally:
            if sys.platform != "win32":
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            try:
                await process.wait()
            finally:
                _restore_terminal(self._attributes)
                if self._control is not None:
                    self._control.close()
                if self._transport is not None:
                    self._transport.close()
                await self._log.close()

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise _not_started()
        return self._process


def _not_started() -> InternalError:
    return InternalError("The worker was not started: use it as a context")


def _terminal_attributes() -> list[Any] | None:
    """How stdin's terminal is set; a debugger's line editor changes it, and may be killed."""
    if sys.platform == "win32":
        return None
    import termios

    return termios.tcgetattr(0)


def _restore_terminal(attributes: list[Any] | None) -> None:
    if sys.platform == "win32" or attributes is None:
        return
    import termios

    with contextlib.suppress(termios.error):  # the terminal was closed
        termios.tcsetattr(0, termios.TCSADRAIN, attributes)


def _how_it_died(code: int, *, sandboxed: bool) -> str:
    if sandboxed and code > _SIGNALLED:
        code = _SIGNALLED - code  # how bubblewrap, like a shell, reports the signal
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_lines(path: Path, count: int = 15) -> str | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 8192))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    return "\n".join(text.splitlines()[-count:]) or None
