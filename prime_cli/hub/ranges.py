"""`Range` of RFC 9110: the part of a file that a download asks for."""

import re
from dataclasses import dataclass

_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Unsatisfiable(Exception):
    """The range begins behind the end of the file, which has `size` bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class Part:
    """Bytes `start` to `stop` (not included) of a file of `size` bytes."""

    start: int
    stop: int
    size: int

    @property
    def length(self) -> int:
        return self.stop - self.start

    @property
    def content_range(self) -> str:
        return f"bytes {self.start}-{self.stop - 1}/{self.size}"


def parse_range(header: str | None, size: int) -> Part | None:
    """The part that a Range header names; None means the whole file.

    Several ranges, or what is no range of bytes, are answered with the whole file, as the RFC
    allows. Raises Unsatisfiable.
    """
    match = _ONE_RANGE.fullmatch(header.replace(" ", "")) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= size or start >= stop:
        raise Unsatisfiable(size)
    return Part(start, stop, size)
