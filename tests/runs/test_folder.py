import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict
from prime_cli.runs.folder import (
    RunFolder,
    is_being_written,
    new_run_folder,
    run_group_name,
    runs_folder,
    writing,
)


def test_runs_lie_where_vf_eval_puts_them(tmp_path: Path) -> None:
    parent = runs_folder("my-env", "org/model", tmp_path)
    assert parent == tmp_path / "outputs/evals/my-env--org--model"


def test_runs_of_a_project_in_environments_lie_in_it(tmp_path: Path) -> None:
    (tmp_path / "environments" / "my_env").mkdir(parents=True)
    parent = runs_folder("my-env", "m", tmp_path)
    assert parent == tmp_path / "environments/my_env/outputs/evals/my-env--m"


def test_a_second_writer_is_refused_with_the_number_of_the_first(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path)
    refused = pytest.raises(Conflict, match=r"being written .* \(process \d+\)")
    with writing(folder), refused, writing(RunFolder(folder.path)):
        pass
    with writing(folder):
        assert is_being_written(folder)


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path)
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from prime_cli.runs.folder import RunFolder, writing\n"
        "with writing(RunFolder(Path(sys.argv[1]))):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder.path)], check=False)
    assert folder.lock.read_text(encoding="ascii").isdecimal()
    assert not is_being_written(folder)
    with writing(folder):
        pass


def test_models_with_colons_have_a_folder_on_windows_too() -> None:
    assert run_group_name("my-env", "org/qwen3:8b", windows=True) == "my-env--org--qwen3-8b"
    assert run_group_name("my-env", "org/qwen3:8b", windows=False) == "my-env--org--qwen3:8b"
    for windows in (True, False):
        name = run_group_name("my-env", "builtin/replay:a1b2c3d4", windows=windows)
        assert name == "my-env--builtin--replay-a1b2c3d4"
