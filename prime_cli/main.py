"""The one place where a command line becomes an exit code.

Nothing is imported at the top but what answers at once: `prime --version`, help and completion
then cost hardly more than Python itself (`typing` and `contextlib` alone would double it).
"""

import sys

from prime_cli.terminal.static_help import static_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import TextIOWrapper
    from typing import NoReturn

    from prime_cli.session import Session

_EASY_ON_GARBAGE = 200_000
"""Objects made between two collections: start-up makes 100,000 and drops few.

At 50,000 the two collections that fell into the imports took 28 ms of every command.
"""

_OFFICIAL_BESIDE = (
    "warning: The official client (`prime`) is installed in the same environment\n"
    "hint: run `prime doctor`\n"
)


def run() -> None:
    """The console script: answer what needs no Typer at once, else run and exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # So that help can be shown on a console that is not UTF-8.
            _wrapper(stream).reconfigure(errors="replace")
    argv = sys.argv[1:]
    text = static_output(argv, _columns())
    if text is None:
        _prepare_process()
        try:
            sys.exit(main(argv))
        finally:
            _leave_garbage()
    _print(text)
    if argv[0] in ("--version", "-v") and _is_terminal() and _official_beside():
        sys.stderr.write(_OFFICIAL_BESIDE)


def main(argv: "Sequence[str] | None" = None, session: "Session | None" = None) -> int:
    """Run `prime` with `argv` (by default the process's own) and return its exit code.

    Every failure is shown through `session.output`, and ends with a code of
    `core.errors.ExitCode`.
    """
    from prime_cli.commands import invoke, output_mode
    from prime_cli.failures import as_failure
    from prime_cli.session import Session

    words = sys.argv[1:] if argv is None else list(argv)
    session = session or Session()
    session.mode, session.command = output_mode(words), _typed(words)
    try:
        try:
            code = invoke(words, session)
            _remind_agent(session)
            return code
        finally:
            session.close()
    except BrokenPipeError:  # the reader of the help has seen enough
        _detach_stdout()
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 the last stop
        failure = as_failure(error, _keys_seen(session))
    session.output.fail(failure)
    return int(failure.exit_code)


def _remind_agent(session: "Session") -> None:
    """A coding agent that has read what another release wrote is told so."""
    from prime_cli.terminal.streams import find_agent

    if find_agent():
        from prime_cli.commands.skills import find_stale_skill

        if stale := find_stale_skill():
            session.output.hint(f"{stale} is of another release: run `prime skills add`")


def _typed(words: "list[str]") -> str:
    import shlex

    return shlex.join(["prime", *words])


def _keys_seen(session: "Session") -> "list[str]":
    """The key that was looked for; nothing is asked now, as a keyring may take its time."""
    credential = vars(session).get("credential")
    return [credential.key] if credential is not None and credential.key else []


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _official_beside() -> bool:
    """Whether the official client is installed where this prime is; `prime doctor` says more."""
    import os

    packages = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 pathlib takes 5 ms
    return any(
        name.startswith("prime-") and name.endswith(".dist-info")
        for name in os.listdir(packages)  # noqa: PTH208 same
    )


def _columns() -> int:
    """The width of the screen that stdout goes to; 80 where it is none, as Typer has it."""
    import os

    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return int(columns)
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 80


def _print(text: str) -> None:
    if sys.stdout is None:  # closed by the shell: `>&-`
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _detach_stdout()
    except OSError as error:
        _detach_stdout()
        if sys.stderr is not None:
            sys.stderr.write(f"error: The output could not be written: {error.strerror}\n")
        sys.exit(74)


def _detach_stdout() -> None:
    """Keep the interpreter from complaining about the lost reader when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _wrapper(stream: object) -> "TextIOWrapper":
    """A process's own stream has more methods than its declared type."""
    return stream  # type: ignore[return-value]


def _prepare_process() -> None:
    import gc
    import signal

    gc.set_threshold(_EASY_ON_GARBAGE)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` has SIGHUP ignored, and so it stays.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _terminated)


def _leave_garbage() -> None:
    """Let the interpreter end without looking for cycles: the system takes all memory at once.

    That search through 120,000 objects took a quarter of the CPU of `prime env list`. Handlers of
    `atexit`, threads and streams are ended and flushed as always.
    """
    import gc

    gc.freeze()


def _terminated(number: int, _frame: object) -> "NoReturn":
    """Unwind as on Ctrl-C, so that files and children are left in order."""
    sys.exit(128 + number)
