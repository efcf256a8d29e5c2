"""The programs that this process starts: what they are given, whoever starts them."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Child:
    """A program with its words and its variables."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


_STARTED: list[list[Child]] = []
"""Who is listening; hooks of Python cannot be taken back, so ours is added once."""


@contextmanager
def recorded_children() -> Iterator[list[Child]]:
    """The programs that are started within the block, also by way of asyncio."""
    _add_hook()
    seen: list[Child] = []
    _STARTED.append(seen)
    try:
        yield seen
    finally:
        _STARTED.remove(seen)


@cache
def _add_hook() -> None:
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _STARTED:
        return
    if event == "subprocess.Popen":
        _, words, _, variables = arguments
    elif event in ("os.exec", "os.posix_spawn"):
        _, words, variables = arguments
    elif event == "os.system":
        words, variables = [arguments[0]], None
    else:
        return
    given = os.environ if variables is None else variables
    child = Child(
        tuple(os.fsdecode(word) for word in words),
        {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()},
    )
    for seen in _STARTED:
        seen.append(child)
