"""Which shell somebody types into."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.process import TimedOut, run

_NAMES = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "pwsh": "powershell",
    "powershell": "powershell",
}
_FARTHEST = 16
"""How many parents are asked: `uv run prime` and the like stand between."""


def detect_shell(environ: Mapping[str, str]) -> str:
    """The nearest shell among the parents of this process, else the one of SHELL.

    Raises UsageError where neither is one that prime completes for.
    """
    last = ("powershell",) if os.name == "nt" else ()
    return choose_shell([*parent_programs(), environ.get("SHELL", ""), *last])


def choose_shell(programs: Iterable[str]) -> str:
    """The first of `programs` that is a shell; raises UsageError if none is."""
    found = next((name for name in map(_shell_of, programs) if name), None)
    if found is None:
        raise UsageError(
            "This shell is none that prime completes for",
            hint="name one: `prime completion install bash`, or zsh, fish, powershell",
        )
    return found


def _shell_of(program: str) -> str | None:
    """The shell that a program such as `-zsh` or `/usr/bin/bash` is."""
    name = program.replace("\\", "/").rpartition("/")[2].lower()
    return _NAMES.get(name.removeprefix("-").removesuffix(".exe"))


def parent_programs() -> Iterator[str]:
    """The program of each process above this one, the nearest first."""
    if os.name == "nt":
        return
    process = os.getppid()
    for _ in range(_FARTHEST):
        told = _process(process)
        if process <= 1 or told is None:
            return
        process, program = told
        yield program


def _process(number: int) -> tuple[int, str] | None:
    """Its parent and its program; None where that cannot be found out."""
    try:
        # proc(5): the number, the program in parentheses, the state, the parent.
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        before, _, after = told.rpartition(")")
        return int(after.split()[1]), before.partition("(")[2]
    except (OSError, IndexError, ValueError):
        return _process_by_ps(number)


def _process_by_ps(number: int) -> tuple[int, str] | None:
    try:
        said = run(["ps", "-o", "ppid=,comm=", "-p", str(number)], timeout=5)
        parent, _, program = said.out.strip().partition(" ")
        return int(parent), program.strip()
    except (OSError, TimedOut, ValueError):
        return None
