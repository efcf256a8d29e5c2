"""`prime eval watch`: another terminal, with the progress and the end of the run's own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.runtime.interpreters import Interpreter
from tests.evals.control.conftest import SlowModel, process, reins, started, until
from tests.helpers.cli import COMMAND, Prime, prime_process
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.terminal import Terminal

pytestmark = pytest.mark.network  # the shared venv may have to be made

FAILING = ECHO.replace("def load_environment(", "def load_environment(no_default, ")


def test_it_tells_each_change_and_ends_with_the_summary(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=2) as run:
        control = reins(tmp_path)
        control.pause()
        watch = [*COMMAND, "eval", "watch", "--output", "jsonl"]
        with subprocess.Popen(
            watch, cwd=tmp_path, stdout=subprocess.PIPE, encoding="utf-8"
        ) as watching:
            assert watching.stdout is not None
            first = json.loads(watching.stdout.readline())
            control.resume()
            *states, last = map(json.loads, watching.stdout)
        summary = run.result(60).summary
    assert (first["t"], first["state"], watching.returncode) == ("state", "paused", 0)
    done = [state["done"] for state in (first, *states)]
    assert done == sorted(done)
    assert (last["run_id"], last["counts"]["scored"]) == (summary.run_id, 8)


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
def test_it_shows_the_bar_and_ctrl_c_leaves_the_run_as_it_is(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        control.pause()
        with Terminal("eval", "watch", cwd=tmp_path) as terminal:
            terminal.wait_for("/8 ")
            terminal.wait_for("paused by")
            terminal.type("\x03")
            assert terminal.end() == 130, terminal.text
            text = " ".join(terminal.text.split())
        assert f"Run {control.run_id} goes on" in text
        assert f"prime eval ctl drain {control.run_id}" in text
        assert "Traceback" not in text
        control.resume()
        assert run.result(60).summary.counts.scored == 8


def test_it_exits_as_a_run_that_has_ended(
    echo: Interpreter, model: ScriptedModel, slow: SlowModel, tmp_path: Path, prime: Prime
) -> None:
    with started(tmp_path, echo, model.url, concurrency=2) as run:
        control = reins(tmp_path)
        control.drain()
        run.result(60)
    told = prime("eval", "watch", control.run_id, cwd=tmp_path)
    assert told.code == 3
    assert "Drained by" in told.err
    assert f"--resume {control.run_id}" in told.err


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [(signal.SIGKILL, 3, "was killed"), (signal.SIGTERM, 143, "continue with")],
)
def test_it_exits_as_a_run_that_a_signal_ends(
    number: signal.Signals, code: int, told: str, model: ScriptedModel, tmp_path: Path
) -> None:
    small_interpreter(tmp_path, ECHO)
    with process(tmp_path, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        until(lambda: control.status().done)
        run.send_signal(number)
        seen = prime_process("eval", "watch", control.run_id, cwd=tmp_path)
    assert seen.code == code, seen.err
    assert told in seen.err


def test_it_exits_as_a_run_that_has_failed(
    model: ScriptedModel, tmp_path: Path, prime: Prime
) -> None:
    with (
        pytest.raises(EnvironmentFailed) as failure,
        started(tmp_path, small_interpreter(tmp_path, FAILING), model.url) as run,
    ):
        run.result(60)
    (folder,) = tmp_path.glob("outputs/evals/*/*")
    told = prime("eval", "watch", str(folder), cwd=tmp_path)
    assert told.code == failure.value.exit_code == 9
    assert failure.value.message in " ".join(told.err.split())
