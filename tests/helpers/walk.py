"""Which functions of prime one command passes through; also a program of its own.

    python -m tests.helpers.walk eval run ./my-env -m builtin/oracle

prints the files on stderr in the order in which they are entered, each with its functions, and
below them how many there are. The process that a command starts is another walk.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import prime_cli

ROOT = Path(prime_cli.__file__).parent
_OF_TESTS = ("commands/contract.py", "commands/json_schema.py")
"""What the tests ask after each command, as `tests.helpers.contracts` does."""


@dataclass
class Walk:
    """The functions that were called, by file (relative to `prime_cli`), in order of entry."""

    files: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def functions(self) -> int:
        """How many different functions were called."""
        return sum(map(len, self.files.values()))

    def lines(self) -> Iterator[str]:
        """The walk as text."""
        for number, (file, names) in enumerate(self.files.items(), 1):
            yield f"{number:4} {file}: {', '.join(names)}"
        yield f"{len(self.files)} files, {self.functions} functions"


@contextmanager
def walking(*, without: tuple[str, ...] = ("hub/", *_OF_TESTS)) -> Iterator[Walk]:
    """Record what is called, in all threads; files below `without` are not counted.

    What runs while a module is imported (its body, its decorators) is not part of the walk.
    """
    walk, prefix = Walk(), f"{ROOT}/"

    def on_event(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(prefix):
            return
        name = code.co_filename.removeprefix(prefix)
        if name.startswith(without) or not code.co_flags & CO_OPTIMIZED or _is_import(frame):
            return
        walk.files.setdefault(name, {})[code.co_qualname] = None

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_import(frame: FrameType) -> bool:
    above = frame.f_back
    while above is not None:
        if above.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        above = above.f_back
    return False


def _main(argv: list[str]) -> int:
    from prime_cli.main import main

    with walking() as walk:
        code = main(argv)
    sys.stderr.write("\n".join([*walk.lines(), ""]))
    return code


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
