"""State about one endpoint shared by the processes of this machine.

One page of a file, mapped into each process: 512 doubles in the machine's own order. The first 16
are the endpoint's (version, limit, time of the last cut, end of the pause), then come 248 pairs
(calls at the endpoint, calls that wait), one for each process. A pair belongs to the holder of the
lock on the byte of its number; byte 4095 is locked while the limit is changed. Doubles are always
written whole, and impossible values are read as nothing.

The locks belong to an open file and not to a process (`F_OFD_SETLK`), so two gateways of one
process exclude each other too, and closing another descriptor of the same file drops nothing. The
system drops them when their holder is gone.
"""

import contextlib
import mmap
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import home_path, open_descriptor, prime_home

# struct flock: Linux has type and whence first, the BSDs and macOS last.
_LINUX = sys.platform.startswith("linux")
_LAYOUT = "hhqqi4x" if _LINUX else "qqihh"


def can_lock() -> bool:
    """Whether this system has such locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    return hasattr(fcntl, "F_OFD_SETLK")


def lock_byte(descriptor: int, position: int) -> bool:
    """Take the lock without waiting; False if another open file has it."""
    try:
        _set(descriptor, position, exclusive=True)
    except OSError:
        return False
    return True


def unlock_byte(descriptor: int, position: int) -> None:
    """Release a lock."""
    _set(descriptor, position, exclusive=False)


def _set(descriptor: int, position: int, *, exclusive: bool) -> None:
    if sys.platform == "win32":
        raise OSError("there are no such locks here")
    import fcntl

    kind = fcntl.F_WRLCK if exclusive else fcntl.F_UNLCK
    if _LINUX:
        request = struct.pack(_LAYOUT, kind, os.SEEK_SET, position, 1, 0)
    else:
        request = struct.pack(_LAYOUT, position, 1, 0, kind, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)


TURN_SECONDS = 2.0
"""How long a remainder stays with the same processes, if a limit cannot be divided evenly."""


@dataclass(frozen=True, slots=True)
class ProcessSlot:
    """A process: its place in the shared file, its calls at the endpoint, and those waiting."""

    place: int
    running: int
    waiting: int

    @property
    def demand(self) -> int:
        """How many calls it would have under way without limits."""
        return self.running + self.waiting


def fair_share(place: int, callers: Sequence[ProcessSlot], limit: int, now: float) -> int:
    """How many of `limit` calls the process at `place` may have under way.

    Max-min fair: a process that wants less than an even share gets what it wants, and the rest is
    divided among the others. The remainder rotates from turn to turn, so that nobody starves even
    with more processes than calls. All processes compute the same division, and the shares of all
    add up to at most `limit`.
    """
    left, hungry = limit, sorted(callers, key=lambda caller: caller.demand)
    while hungry and hungry[0].demand <= left // len(hungry):
        satisfied = hungry.pop(0)
        if satisfied.place == place:
            return satisfied.demand
        left -= satisfied.demand
    if not hungry:
        return left
    even, over = divmod(left, len(hungry))
    rank = sorted(caller.place for caller in hungry).index(place)
    return even + ((rank + int(now / TURN_SECONDS)) % len(hungry) < over)


VERSION = 1.0
SIZE = 4096
PLACES = 248
_CHANGING = SIZE - 1
_FIRST = 16
_MOST = 1e6
_LIMIT, _CUT, _PAUSED = 1, 2, 3


class SharedState:
    """The limit of one endpoint and the calls of all processes; `close` it at the end.

    `limit` is 0 if the endpoint has not objected; times are seconds since 1970.
    """

    def __init__(self, page: "mmap.mmap | bytearray", descriptor: int | None, place: int) -> None:
        self.place = place
        self._page = page
        self._descriptor = descriptor
        self._cells = memoryview(page).cast("d")
        self._own = _FIRST + 2 * place
        self._cells[self._own] = self._cells[self._own + 1] = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return self._descriptor is not None

    @property
    def limit(self) -> float:
        """How many calls at a time; 0 is no limit."""
        return _sane(self._cells[_LIMIT])

    @limit.setter
    def limit(self, limit: float) -> None:
        self._cells[_LIMIT] = limit

    @property
    def cut_at(self) -> float:
        """When the limit was last lowered."""
        return self._cells[_CUT]

    @cut_at.setter
    def cut_at(self, moment: float) -> None:
        self._cells[_CUT] = moment

    @property
    def paused_until(self) -> float:
        """No calls before this time."""
        return self._cells[_PAUSED]

    @paused_until.setter
    def paused_until(self, moment: float) -> None:
        self._cells[_PAUSED] = moment

    def publish(self, running: int, waiting: int) -> None:
        """Publish this process's state."""
        self._cells[self._own] = running
        self._cells[self._own + 1] = waiting

    def callers(self) -> list[ProcessSlot]:
        """The processes that call or wait, this one included."""
        cells = self._cells[_FIRST : _FIRST + 2 * PLACES].tolist()
        return [
            ProcessSlot(place, int(_sane(cells[2 * place])), int(_sane(cells[2 * place + 1])))
            for place in range(PLACES)
            if cells[2 * place] or cells[2 * place + 1]
        ]

    @contextlib.contextmanager
    def changing(self) -> Iterator[bool]:
        """Whether the limit may be changed in the block; False while another process does."""
        if self._descriptor is None:
            yield True
            return
        mine = lock_byte(self._descriptor, _CHANGING)
        try:
            yield mine
        finally:
            if mine:
                unlock_byte(self._descriptor, _CHANGING)

    def forget_the_dead(self) -> None:
        """Clear the pairs of processes that are gone."""
        if self._descriptor is None:
            return
        for caller in self.callers():
            if caller.place != self.place and lock_byte(self._descriptor, caller.place):
                cell = _FIRST + 2 * caller.place
                self._cells[cell] = self._cells[cell + 1] = 0.0
                unlock_byte(self._descriptor, caller.place)

    def close(self) -> None:
        """Leave; the place is free for others."""
        self.publish(0, 0)
        self._cells.release()
        if isinstance(self._page, mmap.mmap):
            self._page.close()
        if self._descriptor is not None:
            os.close(self._descriptor)


def open_state(folder: Path | None, name: str) -> SharedState:
    """The state of the endpoint `name` below `folder`; one of this process alone where that
    cannot be shared: no folder, a read-only one, a full disk, 248 processes, no such locks.
    """
    if folder is not None and can_lock():
        # ValueError: another program just truncated the file.
        with contextlib.suppress(OSError, ValueError):
            return _open(folder / f"{name}.limits")
    return SharedState(bytearray(SIZE), None, 0)


def can_share(folder: Path) -> bool:
    """Whether states below `folder` are shared with other processes."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return can_lock() and os.access(folder, os.W_OK)
    return False


def _open(path: Path) -> SharedState:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT)
    try:
        place = _free_place(descriptor)
        if os.fstat(descriptor).st_size < SIZE:
            # Written, not just extended: a page without a block kills a process (SIGBUS) when the
            # disk is full.
            os.write(descriptor, bytes(SIZE))
        page = mmap.mmap(descriptor, SIZE)
    except BaseException:
        os.close(descriptor)
        raise
    _check_version(page)
    return SharedState(page, descriptor, place)


def _free_place(descriptor: int) -> int:
    for place in range(PLACES):
        if lock_byte(descriptor, place):
            return place
    raise OSError("every place is taken")


def _check_version(page: mmap.mmap) -> None:
    with memoryview(page) as raw, raw.cast("d") as cells:
        if cells[0] != VERSION:
            for cell in range(len(cells)):
                cells[cell] = 0.0
            cells[0] = VERSION


def _sane(number: float) -> float:
    return number if 0 <= number <= _MOST else 0.0


def limits_folder() -> Path | None:
    """`limits` in PRIME_HOME; None if not writable, and then nothing is shared."""
    try:
        folder = home_path(prime_home(), "limits")
    except StorageFailed:
        return None
    return folder if can_share(folder) else None


def describe_limits(folder: Path | None) -> str:
    """Whether limits are shared, for `--verbose`."""
    if folder is None:
        return "not shared: PRIME_HOME is not writable"
    return f"shared with other runs in {folder}"
