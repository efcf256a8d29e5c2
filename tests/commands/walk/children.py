"""The programs that this process starts: what they are given, whoever starts them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.helpers.audited import programs_heard


@dataclass(frozen=True)
class Child:
    """A program with its words and its variables."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


@contextmanager
def recorded_children() -> Iterator[list[Child]]:
    """The programs that are started within the block, also by way of asyncio."""
    seen: list[Child] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        seen.append(_child(event, arguments))

    with programs_heard(hear):
        yield seen


def _child(event: str, arguments: tuple[Any, ...]) -> Child:
    if event == "subprocess.Popen":
        _, words, _, variables = arguments
    elif event == "os.system":
        words, variables = [arguments[0]], None
    else:
        _, words, *rest = arguments
        variables = rest[0] if rest else None
    given = os.environ if variables is None else variables
    return Child(
        tuple(os.fsdecode(word) for word in words),
        {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()},
    )
