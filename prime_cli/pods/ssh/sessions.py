"""ssh in our place at the terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from prime_cli.core.process import child_environment


def become(argv: Sequence[str]) -> NoReturn:
    """Let ssh go on in our place, with our terminal, and end with its exit code.

    On POSIX this process turns into it, so that signals and the terminal are its own. Keys of hubs
    and models are not in its variables.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if sys.platform == "win32":
        sys.exit(run_attached(argv))
    # Python ignores SIGPIPE, and what is ignored would stay so.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(argv[0], list(argv), child_environment())  # noqa: S606 no shell is wanted


def run_attached(argv: Sequence[str]) -> int:
    """Run a program that has our terminal, stdin, stdout and stderr; its exit code.

    Ctrl-C goes to it as well as to us: KeyboardInterrupt is raised once it has ended of that.
    """
    process = subprocess.Popen(list(argv), env=child_environment())
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    except BaseException:
        process.terminate()
        process.wait()
        raise
