"""Questions to a person at a terminal; anywhere else a needed answer is an error."""

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prime_cli.core.errors import Declined, UsageError
from prime_cli.terminal.streams import Stream, is_unattended
from prime_cli.terminal.text import clean, wrapped

LONGEST_SECRET = 16 * 1024
"""Characters of a key, with room to spare."""
_LONGEST_QUOTE = 40
_NO_ANSWER = "No answer, so nothing was done"


def ask_yes_no(question: str, err: Stream, *, flag: str) -> bool:
    """Ask `question [y/N]`; Enter alone is a no.

    Raises UsageError that names `flag` when nobody can answer, Declined when nobody does.
    """
    if not can_ask(err):
        raise UsageError(
            f"{question} Cannot ask without a terminal",
            hint=f"add `{flag}` to confirm",
        )
    return _answer(f"{question} [y/N]", err).lower() in ("y", "yes")


def ask_choice(question: str, options: Sequence[str], err: Stream, *, flag: str | None) -> str:
    """Ask for a number; raises UsageError for another answer, Declined for none.

    Where nobody can answer the UsageError has the options.
    """
    if not can_ask(err):
        name = f"with `{flag}`" if flag else "one of them"
        raise UsageError(f"{question} {', '.join(options)}", hint=f"name {name}")
    size = len(str(len(options)))
    for number, option in enumerate(options, start=1):
        err.write(f"  {number:>{size}}  {clean(option)}\n")
    answer = _answer(f"{question} [1-{len(options)}]", err)
    if not answer:
        raise Declined(_NO_ANSWER)
    if answer in options:
        return answer
    if answer.isdecimal() and 1 <= int(answer[:9]) <= len(options):
        return options[int(answer[:9]) - 1]
    quoted = answer if len(answer) <= _LONGEST_QUOTE else f"{answer[:_LONGEST_QUOTE]}…"
    raise UsageError(f"`{quoted}` is not one of the choices")


def ask_text(question: str, err: Stream, *, default: str, flag: str) -> str:
    """Ask for a line of text; Enter alone is `default`.

    Raises UsageError that names `flag` when nobody can answer, Declined when nobody does.
    """
    if not can_ask(err):
        raise UsageError(
            f"{question} Cannot ask without a terminal",
            hint=f"answer with `{flag}`",
        )
    return _answer(f"{question} [{default}]", err) or default


def read_secret(label: str, err: Stream, *, most: int = LONGEST_SECRET) -> str:
    """A secret of at most `most` characters typed unseen on a terminal, else all of stdin.

    The end of its last line is not part of it. Raises UsageError for too much, Declined when a
    person types nothing.
    """
    if can_ask(err):
        import getpass

        secret = ""
        with _ending_the_line(err):
            secret = getpass.getpass(f"{clean(label)}: ", stream=err.target).rstrip("\r\n")
        if not secret:
            raise Declined(_NO_ANSWER)
        return secret
    text = sys.stdin.read(most + 1) if sys.stdin is not None else ""
    if len(text) > most:
        raise UsageError(f"stdin contains more than a {label.lower()}: over {most:,} characters")
    return text.rstrip("\r\n")


def can_ask(err: Stream) -> bool:
    """Whether a person reads stderr and types into stdin; nobody does so in a job of CI, or
    for a coding agent.

    A thread beside the main one asks nobody: Ctrl-C would not end its question, and others talk
    and draw meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    return err.is_tty and not is_unattended() and sys.stdin is not None and sys.stdin.isatty()


def _answer(question: str, err: Stream) -> str:
    """One line, without its blanks; raises Declined when it never ends (Ctrl-D)."""
    text = clean(question)
    line = ""
    with _ending_the_line(err):
        err.write(f"{text if err.columns is None else wrapped(err.fit(text), err.columns - 1)} ")
        _wait_for_key()
        line = sys.stdin.readline()
    if not line.endswith("\n"):
        err.write("\n")
        raise Declined(_NO_ANSWER)
    return line.strip()


def _wait_for_key() -> None:
    """Wait until something is typed; raises KeyboardInterrupt for Ctrl-C, whenever it comes.

    While Python reads it misses one that came just before, or to another thread, until the next
    key. By PEP 475 and `signal.set_wakeup_fd`.
    """
    if sys.platform == "win32":
        return
    try:
        keyboard = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return
    reading, waking = os.pipe()
    os.set_blocking(waking, False)
    before = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    try:
        while keyboard not in select.select([keyboard, reading], [], [])[0]:
            os.read(reading, 1)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(waking)


@contextmanager
def _ending_the_line(err: Stream) -> Iterator[None]:
    """Leave the cursor on a line of its own where a question is left without Enter.

    Raises Declined for Ctrl-D, UsageError for bytes that are no text.
    """
    try:
        yield
    except KeyboardInterrupt:
        err.write("\n")
        raise
    except EOFError:
        err.write("\n")
        raise Declined(_NO_ANSWER) from None
    except UnicodeDecodeError:
        raise UsageError(f"The input is not {err.encoding.upper()} text") from None
