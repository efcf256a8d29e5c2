"""What a worker process is given, and that it does not outlive its parent."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.runtime.protocol import Rollout
from tests.helpers.processes import is_running
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import run_worker, small_spec, worker_for

GONE_AFTER_S = 60


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "worker.log"


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + GONE_AFTER_S
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.05)


def test_the_worker_sees_no_other_variables(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "pit-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    code = "import os; raise RuntimeError(sorted(os.environ.items()))"
    (log.parent.parent / "telltale.py").write_text(code, encoding="utf-8")
    with ScriptedModel() as model:
        spec = small_spec(model, "telltale", pythonpath=[str(log.parent.parent)])
        ended = run_worker(spec, log).ended
    assert ended.error is not None
    assert "secret" not in ended.error.message
    assert "('OPENAI_API_KEY', 'run-token')" in ended.error.message
    assert f"('OPENAI_BASE_URL', '{model.url}')" in ended.error.message


def test_a_missing_interpreter_is_reported(log: Path, tmp_path: Path) -> None:
    with ScriptedModel() as model, pytest.raises(EnvironmentFailed, match="cannot be started"):
        run_worker(small_spec(model), log, tmp_path / "no-python")


def test_leaving_ends_the_worker_and_what_it_started(log: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "child"

    async def leave_after_the_first() -> int:
        with ScriptedModel() as model:
            args = {"trouble": "block", "child": str(pid_file)}
            async with worker_for(small_spec(model, args=args, concurrency=1), log) as worker:
                async for event in worker.events():
                    if isinstance(event, Rollout):
                        break
                return worker.pid

    pid = asyncio.run(leave_after_the_first())
    wait_until_gone(pid)
    wait_until_gone(int(pid_file.read_text(encoding="utf-8")))


PARENT = """
import asyncio, sys
from pathlib import Path
from prime_cli.runtime.protocol import Rollout
from tests.runtime.worker.runs import small_spec, worker_for
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.processes import is_running

async def main():
    with ScriptedModel() as model:
        args = {"trouble": "block", "child": sys.argv[2]}
        spec = small_spec(model, args=args, concurrency=1)
        async with worker_for(spec, Path(sys.argv[1])) as worker:
            async for event in worker.events():
                if isinstance(event, Rollout):
                    print(worker.pid, flush=True)
                    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of POSIX")
def test_a_worker_dies_with_its_parent_even_while_it_blocks(log: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "child"
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), str(log), str(pid_file)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
        wait_until_gone(pid)
        wait_until_gone(int(pid_file.read_text(encoding="utf-8")))
    finally:
        parent.kill()
        parent.communicate()
