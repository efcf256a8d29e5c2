import os
import signal
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGINT for other processes")
@pytest.mark.parametrize("words", [("open",), ("eval", "view", "--web")])
def test_pages_are_served_to_the_browser_with_the_token_until_ctrl_c(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    run = save_run(tmp_path, row(0)).run_id
    argv = [*COMMAND, *words, run, "--no-browser"]
    environ = {**os.environ, "PRIME_HOME": str(tmp_path / "home")}
    with subprocess.Popen(argv, cwd=tmp_path, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        try:
            with httpx.Client(follow_redirects=True, timeout=60) as browser:
                assert "ada/wordle@1.2 with org/model" in browser.get(address).text
            assert httpx.get(address, timeout=60).status_code == 403
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
