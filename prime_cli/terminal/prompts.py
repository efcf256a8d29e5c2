"""Questions to a person at a terminal; anywhere else a needed answer is an error."""

import sys
from collections.abc import Sequence

from prime_cli.core.errors import UsageError
from prime_cli.terminal.streams import Stream, in_ci
from prime_cli.terminal.words import clean

_LONGEST_SECRET = 16 * 1024


def ask_yes_no(question: str, err: Stream, *, flag: str) -> bool:
    """Ask `question [y/N]`; raises UsageError that names `flag` when nobody can answer."""
    if not can_ask(err):
        raise UsageError(
            f"{question} Nobody can answer here: this is not a terminal",
            hint=f"add `{flag}` to go ahead",
        )
    return _answer(f"{question} [y/N] ", err).lower() in ("y", "yes")


def ask_choice(question: str, options: Sequence[str], err: Stream, *, flag: str | None) -> str:
    """Ask for a number; raises UsageError with the options when nobody can answer."""
    if not can_ask(err):
        name = f"with `{flag}`" if flag else "one of them"
        raise UsageError(f"{question} {', '.join(options)}", hint=f"name {name}")
    for number, option in enumerate(options, start=1):
        err.write(f"  {number}  {clean(option)}\n")
    answer = _answer(f"{question} [1-{len(options)}] ", err)
    if answer in options:
        return answer
    if answer.isdecimal() and 1 <= int(answer) <= len(options):
        return options[int(answer) - 1]
    raise UsageError(f"`{answer}` is not one of the choices")


def read_secret(label: str, err: Stream) -> str:
    """A secret typed unseen on a terminal, else all of stdin; raises UsageError for too much."""
    if can_ask(err):
        import getpass

        try:
            return getpass.getpass(f"{clean(label)}: ", stream=err.target).strip()
        except EOFError:  # Ctrl-D
            return ""
    text = sys.stdin.read(_LONGEST_SECRET + 1) if sys.stdin is not None else ""
    if len(text) > _LONGEST_SECRET:
        raise UsageError(f"stdin holds more than a {label.lower()}")
    return text.strip()


def can_ask(err: Stream) -> bool:
    """Whether a person reads stderr and types into stdin; nobody does so in a job of CI."""
    return err.is_tty and not in_ci() and sys.stdin is not None and sys.stdin.isatty()


def _answer(question: str, err: Stream) -> str:
    err.write(clean(question))
    return sys.stdin.readline().strip()
