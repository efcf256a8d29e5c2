"""How a container's first process is known on this machine."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from prime_cli.hub.sandboxes.engine.provider import is_first_process

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
TAG = "prime-1-2"


@contextmanager
def process(line: str) -> Iterator[int]:
    """The number of a shell with a line."""
    with subprocess.Popen(["/bin/sh", "-c", line]) as started:
        try:
            yield started.pid
        finally:
            started.kill()


def test_one_that_is_still_the_runtimes_is_waited_for() -> None:
    with process(f"sleep 0.2; exec /bin/sh -c 'sleep 20; true' {TAG}") as pid:
        assert asyncio.run(is_first_process(pid, TAG))


def test_another_process_of_that_number_is_not_taken_for_it() -> None:
    with process("sleep 20; true") as pid:
        assert not asyncio.run(is_first_process(pid, TAG, seconds=0.1))


def test_a_number_that_nothing_has_is_not_waited_for() -> None:
    assert not asyncio.run(is_first_process(2**30, TAG, seconds=3600))
