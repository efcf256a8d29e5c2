"""`prime sandbox run`."""

import os
import shlex
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Annotated

import typer

from prime_cli.client.api.sandbox_gateway import SandboxGateway
from prime_cli.commands.contract import RUNS_PROGRAM, WRITES
from prime_cli.commands.options import CONTEXT, OFFLINE, QUIET, common_options, open_session
from prime_cli.commands.sandbox.lookup import SandboxArg, find_living, parse_pairs
from prime_cli.core.config import PRIME_API_URL
from prime_cli.core.errors import ExitCode, NotFound, PrimeError, TooSlow, Unreachable, UsageError
from prime_cli.wire.command_sessions import (
    STDERR,
    CommandEnded,
    CommandOutput,
    CommandSpec,
    StartRequest,
)

_DEFAULT_SECONDS = 300
_SLICE = 64 * 1024
_LAST_SEND_SECONDS = 2.0
_KILLED = 137
"""128 + SIGKILL."""


@common_options(QUIET, CONTEXT, OFFLINE, effects=(WRITES, RUNS_PROGRAM))
def run(
    ctx: typer.Context,
    sandbox: SandboxArg,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")
    ],
    *,
    working_dir: Annotated[
        str | None,
        typer.Option("--working-dir", "-w", metavar="FOLDER", help="Run it in this folder."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable; repeatable."),
    ] = None,
    timeout: Annotated[
        int,
        typer.Option("--timeout", metavar="SECONDS", min=1, help="Kill it after this long."),
    ] = _DEFAULT_SECONDS,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="NAME", help="Run it as this user."),
    ] = None,
) -> None:
    """Run a command in a sandbox.

    Passes on stdin (not from a terminal, nor to the public hub), stdout, stderr and the exit code;
    a timeout exits with 3. A single word is split as a shell would; for `|` and the sandbox's
    variables use `bash -c`.

    \b
    Example:
      prime sandbox run box -- python -c 'print(6 * 7)'
      prime sandbox run box "ls -l /tmp"
      tar c data | prime sandbox run box -- tar x -C /tmp
    \b
    See also: `prime sandbox create`, `prime sandbox cp`.
    """
    session = open_session(ctx)
    words = _split(command[0]) if len(command) == 1 else command
    variables = parse_pairs(env or [], "--env")
    found = find_living(session.hub, sandbox)
    gateway = session.hub.sandboxes.gateway(found.id)
    name = uuid.uuid4().hex
    # Sessions of the public hub have no end of stdin: what reads to it would wait forever.
    reads = session.hub.base_url != PRIME_API_URL and _is_given_input()
    request = StartRequest(
        CommandSpec(("/bin/bash", "-c", shlex.join(words)), variables, working_dir, user),
        stdin=reads,
        session=name,
    )
    feeder = _Feeder(gateway, name, timeout)
    try:
        code = _pass_on(gateway, request, timeout, feeder.start if reads else None)
    except TooSlow as error:
        session.output.warn(
            f"The command was ended after {timeout} s", hint="give it more with `--timeout`"
        )
        raise typer.Exit(ExitCode.PARTIAL) from error
    finally:
        feeder.stop()
    if code == _KILLED and feeder.failure is not None:
        raise Unreachable(
            f"The command was ended, since its stdin cannot be passed on: {feeder.failure.message}"
        )
    if code == _KILLED:
        session.output.warn(
            "The command was killed, as when the sandbox ends or its "
            f"{found.memory_gb:g} GB of memory are used up",
            hint=f"see `prime sandbox get {shlex.quote(sandbox)}`",
        )
    raise typer.Exit(code)


def _is_given_input() -> bool:
    """Whether stdin is a file or a pipe; programs are also started without any."""
    return sys.stdin is not None and not sys.stdin.isatty()


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"The command cannot be split into words: {str(error).lower()}",
            hint="close the quotation, or write the words after `--`",
        ) from None


def _pass_on(
    gateway: SandboxGateway, request: StartRequest, seconds: int, begun: Callable[[], None] | None
) -> int:
    # Left to the garbage collector, a second Ctrl-C while the command is killed would be lost.
    with closing(gateway.run(request, seconds=seconds, begun=begun)) as events:
        for event in events:
            if isinstance(event, CommandEnded):
                return event.code
            if isinstance(event, CommandOutput):
                stream = sys.stderr if event.stream == STDERR else sys.stdout
                stream.buffer.write(event.data)
                stream.buffer.flush()
    return ExitCode.INTERNAL  # not reached: a stream without an end raises


def _read_stdin() -> bytes:
    """What comes next; nothing of what cannot be read, such as a folder."""
    with suppress(OSError):
        return os.read(sys.stdin.fileno(), _SLICE)
    return b""


class _Feeder:
    """Gives a command everything on stdin; it may end before that."""

    def __init__(self, gateway: SandboxGateway, session: str, seconds: float) -> None:
        self.failure: PrimeError | None = None
        """Why the command, which still ran, could be given no more."""
        self._gateway = gateway
        self._session = session
        self._seconds = seconds
        self._sending = threading.Lock()
        self._is_stopped = False

    def start(self) -> None:
        """Start, in a thread that a read of stdin may hold for ever."""
        threading.Thread(target=self._feed, name="prime-stdin", daemon=True).start()

    def stop(self) -> None:
        """Send no more: the connection is about to be closed."""
        self._is_stopped = True
        if self._sending.acquire(timeout=_LAST_SEND_SECONDS):
            self._sending.release()

    def _feed(self) -> None:
        more = True
        while more:
            data = _read_stdin()
            more = bool(data)
            with self._sending:
                if self._is_stopped:
                    return
                try:
                    self._gateway.send_input(self._session, data, seconds=self._seconds)
                except NotFound:
                    return  # the command has ended, and its own exit code is the answer
                except PrimeError as error:
                    # It would take what it has for the whole, or wait for the rest.
                    self.failure = error
                    self._gateway.kill(self._session)
                    return
