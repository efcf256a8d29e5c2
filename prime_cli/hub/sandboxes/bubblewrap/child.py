"""A process of this one, for much less time of its CPU than asyncio's.

In Python 3.11 asyncio also holds a thread for each, which does nothing but wait.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from io import FileIO


class Child:
    """A process that was started, in a group of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.pid = process.pid
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._fd = _open_pidfd(self.pid)
        if self._fd is None:
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._fd, self._reap)

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    def kill(self) -> None:
        """End it."""
        self._process.kill()

    async def kill_all(self) -> None:
        """End it with what is left of its group, and wait until it has ended.

        A child of bubblewrap waits for it before it asks to end with it, and would wait forever.
        """
        if sys.platform != "win32":
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        await self.wait()

    def _reap(self) -> None:
        if self._fd is not None:
            # Before it is closed, or the next process to get this descriptor would not be reaped.
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None
        self._process.wait()
        self._ended.set()

    def _wait_in_thread(self) -> None:
        self._process.wait()
        # Its loop is closed if nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._reap)


def start_child(words: Sequence[str], pass_fds: Sequence[int], stderr: FileIO) -> Child:
    """Start a program without variables, stdin or stdout; raises OSError."""
    return Child(
        subprocess.Popen(
            words,
            pass_fds=pass_fds,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            process_group=0,
        )
    )


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that is readable once a process has ended; None where there is none.

    As before Linux 5.3, and in containers whose filter of system calls is older.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
