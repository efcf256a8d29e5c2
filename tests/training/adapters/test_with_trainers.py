"""The adapters in the interpreters of real trainers, which tests do not install.

PRIME_VERL_PYTHON, PRIME_TINKER_PYTHON, PRIME_SKYRL_PYTHON and PRIME_ART_PYTHON name interpreters
that have verl, the Tinker cookbook, SkyRL and ART.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.training import adapters
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.rollout_service import Trainer, serve
from tests.helpers.wild import write_project

PROGRAMS = Path(__file__).parent / "programs"
# Read when this is imported, since each test is given an environment without them.
VARIABLES = {each: f"PRIME_{each.upper()}_PYTHON" for each in ("verl", "tinker", "skyrl", "art")}
PYTHONS = {trainer: os.environ.get(variable) for trainer, variable in VARIABLES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("trainer", VARIABLES)
def test_the_adapter_trains_on_exactly_what_was_sampled(trainer: str, tmp_path: Path) -> None:
    python = _python(trainer)
    shutil.copytree(Path(adapters.__file__).parent, tmp_path / "prime_adapters")

    def scenario(session: Trainer) -> None:
        told = {"PRIME_ROLLOUTS_URL": session.url, "PRIME_ROLLOUTS_TOKEN": session.token}
        _run(python, trainer, tmp_path, str(tmp_path / "data"), **told)

    serve(small_interpreter(tmp_path / "echo", ECHO), tmp_path, scenario)


@pytest.mark.slow
def test_the_words_of_rllms_example_start_verl_on_the_environment(tmp_path: Path) -> None:
    python = _python("verl")
    shutil.copytree(Path(adapters.__file__).parent, tmp_path / "prime_adapters")
    project = write_project(tmp_path / "tiny_env")
    beside = Path(sys.executable).parent
    found = f"{beside}{os.pathsep}{os.environ['PATH']}"
    _run(python, "rllm", tmp_path, str(project), str(tmp_path / "data"), PATH=found)


def _python(trainer: str) -> str:
    python = PYTHONS[trainer]
    if python is None:
        pytest.skip(f"{trainer} is not at hand: {VARIABLES[trainer]} names no interpreter")
    return python


def _run(python: str, program: str, folder: Path, *words: str, **variables: str) -> None:
    command = [python, str(PROGRAMS / f"with_{program}.py"), *words]
    path = f"{folder}{os.pathsep}{PROGRAMS}"
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
