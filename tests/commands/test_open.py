import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.helpers.cli import COMMAND, Prime
from tests.runs.rows import row
from tests.runs.saving import save_run


def test_what_is_neither_a_run_nor_an_environment_is_not_found(
    prime: Prime, tmp_path: Path
) -> None:
    result = prime("open", "nothing", cwd=tmp_path)

    assert result.code == 6
    assert "`nothing` is neither a run here nor an environment" in result.err


def test_the_options_of_the_browser_need_web(prime: Prime, tmp_path: Path) -> None:
    result = prime("eval", "view", "--no-browser", cwd=tmp_path)

    assert result.code == 2
    assert "need `--web`" in result.err


needs_signals = pytest.mark.skipif(
    sys.platform == "win32", reason="has no SIGINT for other processes"
)


@contextmanager
def pages(words: Sequence[str], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process that serves the pages, and their address."""
    environ = {**os.environ, "PRIME_HOME": str(folder / "home")}
    argv = [*COMMAND, *words, "--no-browser"]
    with subprocess.Popen(argv, cwd=folder, env=environ, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().decode().strip()
        finally:
            # One that does not end by itself fails the test, and would be waited for forever.
            process.kill()


@pytest.mark.slow
@needs_signals
@pytest.mark.parametrize("words", [("open",), ("eval", "view", "--web")])
def test_pages_are_served_to_the_browser_with_the_token_until_ctrl_c(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    run = save_run(tmp_path, row(0)).run_id
    with pages([*words, run], tmp_path) as (process, address):
        with httpx.Client(follow_redirects=True, timeout=60) as browser:
            assert "ada/wordle@1.2 with org/model" in browser.get(address).text
        assert httpx.get(address, timeout=60).status_code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow
@needs_signals
@pytest.mark.skipif(sys.platform != "linux", reason="signals a thread of another process")
def test_ctrl_c_ends_them_also_if_it_does_not_interrupt_what_they_wait_for(tmp_path: Path) -> None:
    with pages(["open"], tmp_path) as (process, _):
        # Until nothing else wakes its loop.
        time.sleep(2)
        threads = sorted(int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir())
        another = next(thread for thread in threads if thread != process.pid)
        assert ctypes.CDLL(None).tgkill(process.pid, another, signal.SIGINT) == 0
        assert process.wait(60) == 0
