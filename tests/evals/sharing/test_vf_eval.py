"""Folders that released evaluators of v0 write are read, and pushed with the mean they state."""

import os
import subprocess
from pathlib import Path

import pytest

from prime_cli.core.refs import EnvRef
from prime_cli.evals.sharing.samples import rows_of_evaluation
from prime_cli.runs.listing import list_runs
from prime_cli.runs.saved_run import open_run
from tests.evals.sharing.pushing import open_way, push
from tests.helpers.environments import ECHO
from tests.helpers.scripted_model import Received, ScriptedModel
from tests.helpers.venvs import venv_python

pytestmark = pytest.mark.slow


def right_but_once(request: Received) -> str:
    """Say back what was said, but for the second example."""
    return "no" if request.last_user == "say 1" else request.last_user


def run_vf_eval(cwd: Path, release: str) -> None:
    """Three examples, two rollouts of each, saved below `cwd`."""
    (cwd / "wordle.py").write_text(ECHO, encoding="utf-8")
    script = venv_python(f"verifiers=={release}").parent / "vf-eval"
    with ScriptedModel(right_but_once) as model:
        argv = f"wordle -m org/m -b {model.url} -k KEY -n 3 -r 2 -c 1 -s".split()
        subprocess.run(
            [str(script), *argv],
            cwd=cwd,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(cwd),
                "PYTHONPATH": str(cwd),
                "KEY": "x",
                "HF_HUB_OFFLINE": "1",
            },
            check=True,
            capture_output=True,
            timeout=600,
        )


@pytest.mark.sample(1, "release")
@pytest.mark.parametrize("release", ["0.1.3", "0.1.5.post0", "0.1.9.post3", "0.1.14"])
def test_folder_is_read_and_pushed(tmp_path: Path, release: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    run_vf_eval(work, release)
    (listed,) = list_runs(work)
    assert (listed.environment, listed.model, listed.status) == ("wordle", "org/m", "finished")
    assert listed.reward == pytest.approx(2 / 3)
    run = open_run(Path(listed.path))
    summary = run.summary()
    assert summary.rollouts == {"r1": [1.0, 0.0, 1.0], "r2": [1.0, 0.0, 1.0]}
    assert summary.metrics["same"].mean == pytest.approx(2 / 3)
    hub, _ = open_way(tmp_path / "hub")
    pushed = push(hub, run.folder, environment=EnvRef.parse("ada/wordle"))
    found = hub.evaluations.get(pushed.evaluation_id)
    assert found.avg_score == pytest.approx(2 / 3)
    assert found.total_samples == 6
    assert found.metrics["reward"] == found.metrics["same"] == pytest.approx(2 / 3)
    assert list(rows_of_evaluation(hub, pushed.evaluation_id)) == list(run.rows())
