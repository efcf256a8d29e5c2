"""The configuration of an evaluation, resolved by real releases of verifiers."""

from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runtime.eval_config import ResolvedConfig, resolve_config
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.variables import share
from tests.helpers.venvs import venv_over, venv_python

RELEASES = ("0.3.1", "0.4.0", "0.4.1.dev86")
TASKSET = """\
import verifiers.v1 as vf


class Config(vf.TasksetConfig):
    level: int = 1


class Own(vf.Taskset[vf.Task, Config]):
    def load(self):
        yield vf.Task(vf.TaskData(idx=0, prompt="x"), self.config.task)


__all__ = ["Own"]
"""

pytestmark = pytest.mark.slow


def resolve(
    release: str, folder: Path, *words: str, files: dict[str, str] | None = None
) -> ResolvedConfig:
    python = venv_over(venv_python(f"verifiers=={release}"), folder / "venv")
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "own_tasks.py").write_text(TASKSET, encoding="utf-8")
    interpreter = Interpreter(python, "0" * 64, release, "v1", "test", "own_tasks", "3")
    return resolve_config(interpreter, words, files or {}, share({"PATH": "/usr/bin:/bin"}))


@pytest.mark.sample(1, "release")
@pytest.mark.parametrize("release", RELEASES)
def test_flags_and_files_are_resolved_by_the_classes_of_the_taskset(
    release: str, tmp_path: Path
) -> None:
    file = '{"model": "m", "env": {"taskset": {"level": 2}, "agent": {"max_turns": 3}}}'
    words = ("--env.taskset.level", "5", "@", "config-0.json", "--sampling.temperature=0.5")
    found = resolve(release, tmp_path, *words, files={"config-0.json": file})
    assert found.given["env"]["taskset"] == {"id": "own_tasks", "level": 5}
    assert found.given["env"]["agent"]["max_turns"] == 3
    assert (found.given["model"], found.given["sampling"]) == ("m", {"temperature": 0.5})
    assert "num_rollouts" not in found.given
    assert found.config["env"]["agent"]["runtime"] == {"type": "subprocess"}


@pytest.mark.sample(2, "words")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--env.taskset.levels", "2"), "`--env.taskset.levels`: Extra inputs are not permitted"),
        (("--env.taskset.level", "x"), "`--env.taskset.level`: Input should be a valid integer"),
        (("--select.include.idx", "-1"), "`--select.include.idx`: Value error, idx '-1' is not"),
        (("--env.agent.harness.id", "nope"), "harness 'nope' not found"),
        (("--env.judge.model", "m"), "`--env.judge`: Extra inputs are not permitted"),
        (("--env.id", "nope"), "environment 'nope' not found"),
        (("--env.agent.runtime.type", "boat"), "`--env.agent.runtime`: .*'subprocess'.*'docker'"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_a_wrong_name_or_value_is_refused_in_the_words_of_verifiers(
    words: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"verifiers 0.4.0 refuses .*{problem}"):
        resolve("0.4.0", tmp_path, *words)


@pytest.mark.sample(1, "release")
@pytest.mark.parametrize("release", RELEASES)
def test_a_role_that_is_not_there_is_answered_with_those_that_are(
    release: str, tmp_path: Path
) -> None:
    file = '{"env": {"id": "agentic_judge"}}'
    wrong = ("--env.jugde.model", "m")
    for index, words in enumerate((("--env.id", "agentic_judge"), ("@", "config-0.json"))):
        given, folder = (*words, *wrong), tmp_path / str(index)
        with pytest.raises(UsageError, match=r"`--env\.jugde`: Extra inputs") as caught:
            resolve(release, folder, *given, files={"config-0.json": file})
        roles = "`--env.solver`, `--env.judge`"
        assert caught.value.hint == f"the roles of this environment are {roles}"


@pytest.mark.sample(1, "release")
@pytest.mark.parametrize("release", RELEASES)
def test_a_judge_without_an_address_gets_that_of_the_run(release: str, tmp_path: Path) -> None:
    words = ("--env.taskset.task.judges", '[{"id": "reference", "model": "m"}]')
    found = resolve(release, tmp_path, *words, "--env.agent.client.type", "eval")
    (judge,) = found.given["env"]["taskset"]["task"]["judges"]
    assert (judge["model"], "base_url" in judge) == ("m", False)
    assert "base_url" not in found.given["env"]["agent"]["client"]


def test_a_harness_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"harnesses are: bash, .*null, .*terminus_2"):
        resolve("0.4.0", tmp_path, "--env.agent.harness.id", "nope")


def test_a_field_of_another_release_is_refused_with_that_release(tmp_path: Path) -> None:
    file = '{"num_tasks": 3}'
    with pytest.raises(UsageError, match="`--num-tasks`") as caught:
        resolve("0.4.0", tmp_path, "@", "config-0.json", files={"config-0.json": file})
    assert caught.value.hint == "verifiers 0.3 has it: `--verifiers '==0.3.*'`"


def test_the_default_runtime_of_a_resolved_file_was_not_chosen(tmp_path: Path) -> None:
    file = '{"env": {"agent": {"runtime": {"type": "prime"}, "max_turns": 3}}}'
    found = resolve("0.4.0", tmp_path, "@", "config-0.json", files={"config-0.json": file})
    assert "runtime" not in found.given["env"]["agent"]
    typed = resolve("0.4.0", tmp_path / "typed", "--env.agent.runtime.type", "prime")
    assert typed.given["env"]["agent"]["runtime"]["type"] == "prime"
