"""`prime env shell` from the command line, in a task that was really set up."""

import os
from pathlib import Path

import pytest

from tests.helpers.cli import Prime, prime_process
from tests.helpers.wild import TASKSET, Shape, write_project

pytestmark = pytest.mark.slow

SET_UP = TASKSET.replace(
    "    @vf.reward(weight=1.0)",
    """    def runtime_env(self) -> dict[str, str]:
        return {"MARK": "here"}

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        if self.data.answer == "3":
            raise OSError("no room")
        await runtime.write("task.txt", self.data.prompt.encode())

    @vf.reward(weight=1.0)""",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shape = Shape(body=SET_UP, layout="package", dependencies=("verifiers>=0.4,<0.5",))
    return write_project(tmp_path, shape)


def test_a_command_has_the_tasks_folder_and_ends_as_it_ended(prime: Prime, project: Path) -> None:
    line = 'cat task.txt; printf " $MARK" | cat; echo aside >&2; exit 7'
    result = prime("env", "shell", "--example", "1", "--", line, cwd=project)
    assert (result.code, result.out) == (7, "Say 1 here")
    assert result.err.endswith("aside\n")
    assert prime("env", "shell", "--", "test", "-e", "task.txt", cwd=project).code == 0
    assert prime("env", "shell", "--", "test", "-e", "a b", cwd=project).code == 1


def test_a_shell_reads_what_is_typed(project: Path) -> None:
    shell = {"SHELL": "/bin/sh", "HOME": os.environ["HOME"]}
    typed = "cat task.txt; printf $MARK; exit 3\n"
    result = prime_process("env", "shell", cwd=project, env=shell, stdin=typed)
    assert (result.code, result.out) == (3, "Say 0here"), result.err


def test_what_cannot_be_set_up_is_said(prime: Prime, project: Path, tmp_path: Path) -> None:
    failed = prime("env", "shell", "--example", "3", "--", "ls", cwd=project)
    assert failed.code == 9
    assert "Example 3 has no runtime: OSError: no room" in failed.err
    absent = prime("env", "shell", "--example", "9", "--", "ls", cwd=project)
    assert absent.code == 2
    assert "has 4 examples, numbered 0 to 3" in absent.err
    old = write_project(tmp_path / "old", Shape(dependencies=("verifiers>=0.1.14,<0.4",)))
    refused = prime("env", "shell", cwd=old)
    assert refused.code == 2
    assert "is a v0 environment: only v1 tasks have a set-up" in refused.err


def test_two_environments_are_one_too_many(prime: Prime, tmp_path: Path) -> None:
    result = prime("env", "shell", "one", "two", cwd=tmp_path)
    assert result.code == 2
    assert "`prime env shell` takes one environment, not also `two`" in result.err
