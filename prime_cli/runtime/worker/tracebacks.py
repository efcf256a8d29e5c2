"""Tracebacks that are kept with an error: short, and never without the environment's own lines."""

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

MOST_FRAMES = 20
LAST_FRAMES = 6
"""Kept of a longer stack whoever they belong to: they say what went wrong."""
MOST_OF_A_LINE = 1000
MOST_CHARACTERS = 8000

LIBRARIES = frozenset(
    {
        "verifiers", "openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "anyio",
        "aiohttp", "pydantic", "datasets", "tenacity",
    }
)  # fmt: skip
_STANDARD = f"{Path(os.__file__).parent}{os.sep}"
_WORKER = f"{Path(__file__).parent}{os.sep}"
_PACKAGES = f"{os.sep}site-packages{os.sep}"


def traceback_of(error: BaseException) -> str:
    """The traceback of `error` and its causes, of at most MOST_CHARACTERS."""
    told = traceback.TracebackException.from_exception(error)
    for link in _links(told):
        link.stack = traceback.StackSummary.from_list(_shown(list(link.stack)))
    text = "".join(_cut(line) for line in told.format())
    return text[-MOST_CHARACTERS:]


def was_raised(error: BaseException) -> bool:
    """Whether there is a traceback of `error` or of what it came from."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        if link.__traceback__ is not None:
            return True
        seen.append(link)
        link = link.__cause__ or link.__context__
    return False


def _links(told: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    waiting, seen = [told], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        nested = getattr(link, "exceptions", None) or []  # of a group of exceptions
        waiting += [other for other in (link.__cause__, link.__context__, *nested) if other]


def _shown(frames: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """`frames` without the worker's; of too many the environment's own and the last ones."""
    frames = [frame for frame in frames if not frame.filename.startswith(_WORKER)] or frames
    if len(frames) <= MOST_FRAMES:
        return frames
    last = frames[-LAST_FRAMES:]
    own = [frame for frame in frames[:-LAST_FRAMES] if not _is_library(frame.filename)]
    return own[-(MOST_FRAMES - LAST_FRAMES) :] + last


def _is_library(filename: str) -> bool:
    before, _, inside = filename.rpartition(_PACKAGES)
    if before:
        return inside.partition(os.sep)[0] in LIBRARIES
    return filename.startswith((_STANDARD, "<frozen"))


def _cut(line: str) -> str:
    return line if len(line) <= MOST_OF_A_LINE else line[:MOST_OF_A_LINE].rstrip("\n") + " …\n"
