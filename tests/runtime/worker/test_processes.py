"""A worker that ends leaves no process behind, whatever sessions its descendants have."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from prime_cli.runtime.worker.processes import descendants, free_mb, processes_that_fit
from tests.helpers.processes import is_running
from tests.helpers.scripted_model import HANG, Answer, Received, Reply, ScriptedModel, tool_call
from tests.helpers.venvs import venv_python
from tests.runtime.worker.runs import run_worker, spec_for

PATIENCE_S = 120

STARTS_AND_ENDS = """
import subprocess, sys
from prime_cli.runtime.worker import processes
processes.adopt_orphans()
start = "import subprocess as s; " \\
    "quiet = {'stdout': s.DEVNULL, 'stderr': s.DEVNULL, 'start_new_session': True}; " \\
    "print(s.Popen(['sleep', '60'], **quiet).pid, flush=True)"
orphan = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True).stdout
exec(start)
print(orphan)
processes.kill_descendants()
"""

RUNS_A_WORKER = """
import sys
from pathlib import Path
import msgspec
from prime_cli.runtime.protocol import WorkerSpec
from tests.runtime.worker.runs import run_worker
from tests.helpers.processes import is_running
run_worker(msgspec.json.decode(sys.argv[1], type=WorkerSpec), Path(sys.argv[2]), Path(sys.argv[3]))
"""


def test_descendants_are_those_below_a_process() -> None:
    parents = {2: 1, 3: 2, 4: 3, 5: 1, 6: 5}
    assert descendants(2, parents) == {3, 4}
    assert descendants(4, parents) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are lost elsewhere")
def test_an_orphan_in_a_session_of_its_own_is_ended_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTS_AND_ENDS],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=PATIENCE_S,
    )
    orphan, own = map(int, done.stdout.split())
    assert not [pid for pid in (orphan, own) if is_running(pid)]


def looks_it_up(request: Received) -> Reply:
    if request.messages[-1]["role"] == "tool":
        return Reply(str(request.messages[-1]["content"]))
    [tool] = request.body["tools"]
    return Reply(None, tool_calls=(tool_call(tool["function"]["name"], {"word": "flurb"}),))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.3.1", "0.4.0"])
def test_tools_of_a_server_are_called_from_this_process(version: str, tmp_path: Path) -> None:
    python = venv_python(f"verifiers=={version}")
    with ScriptedModel(looks_it_up) as model:
        spec = spec_for(model, "glossary_tasks", generation="v1", n=1)
        said = run_worker(spec, tmp_path / "worker.log", python)
    assert said.rewards == {(0, 0): 1.0}
    assert said.started.harness == "null, in-process"


def sleeps(request: Received) -> Reply:
    del request
    return Reply(None, tool_calls=(tool_call("bash", {"command": "sleep 300"}),))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("module", "answer", "started"),
    [("glossary_tasks", HANG, b"-m\0glossary_tasks"), ("shell_tasks", sleeps, b"sleep\x00300")],
)
def test_a_killed_parent_leaves_no_process(
    module: str, answer: Answer, started: bytes, tmp_path: Path
) -> None:
    """A tool server of verifiers ends by itself; the model's commands and their harness do not."""
    python = venv_python("verifiers==0.4.0")
    with ScriptedModel(answer) as model:
        spec = spec_for(model, module, generation="v1", n=1, offline=True)
        words = [msgspec.json.encode(spec).decode(), str(tmp_path / "worker.log"), str(python)]
        command = [sys.executable, "-c", RUNS_A_WORKER, *words]
        with subprocess.Popen(command, env={**os.environ, "HOME": str(tmp_path)}) as parent:
            until(lambda: any(started in words for words in at_home(tmp_path)))
            os.kill(parent.pid, signal.SIGKILL)
        until(lambda: not at_home(tmp_path))


def at_home(home: Path) -> list[bytes]:
    """The command lines of all processes whose HOME is `home`."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"HOME={home}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "cmdline").read_bytes())
    return found


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.1)


@pytest.mark.parametrize(("free", "expected"), [(10, 1), (6000, 60), (10**6, 128)])
def test_processes_share_the_memory_that_is_free(free: int, expected: int) -> None:
    assert processes_that_fit(128, free) == expected


def test_without_knowing_the_memory_processors_set_the_limit() -> None:
    assert processes_that_fit(1, None) == 1
    assert 1 <= processes_that_fit(10**9, None) < 10**6


def test_the_memory_of_this_machine_is_reported_or_unknown() -> None:
    found = free_mb()
    assert found is None or found > 0
