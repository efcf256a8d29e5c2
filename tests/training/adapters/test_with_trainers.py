"""The adapters in the interpreters of real trainers, which tests do not install.

PRIME_VERL_PYTHON and PRIME_TINKER_PYTHON name interpreters that have verl and the Tinker cookbook.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from prime_cli.training import adapters
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.rollout_service import Trainer, serve

PROGRAMS = Path(__file__).parent / "programs"
# Read when this is imported, since each test is given an environment without them.
VARIABLES = {"verl": "PRIME_VERL_PYTHON", "tinker": "PRIME_TINKER_PYTHON"}
PYTHONS = {trainer: os.environ.get(variable) for trainer, variable in VARIABLES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("trainer", VARIABLES)
def test_the_adapter_trains_on_exactly_what_was_sampled(trainer: str, tmp_path: Path) -> None:
    python = PYTHONS[trainer]
    if python is None:
        pytest.skip(f"{trainer} is not at hand: {VARIABLES[trainer]} names no interpreter")
    shutil.copytree(Path(adapters.__file__).parent, tmp_path / "prime_adapters")

    def scenario(session: Trainer) -> None:
        told = {
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROGRAMS}",
            "PRIME_ROLLOUTS_URL": session.url,
            "PRIME_ROLLOUTS_TOKEN": session.token,
            "OMP_NUM_THREADS": "1",
        }
        program = [python, str(PROGRAMS / f"with_{trainer}.py"), str(tmp_path / "data")]
        done = subprocess.run(program, env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    serve(small_interpreter(tmp_path / "echo", ECHO), tmp_path, scenario)
