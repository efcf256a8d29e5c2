"""verifiers' own environments and Harbor's tasks in containers of Podman, by a scripted model."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Result, prime_process
from tests.helpers.engines import HARNESS_IMAGE, podman_with_uv
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, tool_call

pytestmark = [pytest.mark.slow, pytest.mark.network]

SECONDS = 900
PYPROJECT = """\
[project]
name = "box"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["verifiers==0.4.0"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build]
include = ["box.py"]
"""
BOX = """\
import verifiers.v1 as vf


class BoxTask(vf.Task[vf.TaskData, vf.State]):
    @vf.reward
    async def written(self, trace, runtime) -> float:
        if trace.last_reply == "hello":
            return 1.0
        return float((await runtime.read("/app/out/answer.txt")).decode() == "hello")


class Box(vf.Taskset[BoxTask, vf.TasksetConfig]):
    def load(self):
        artifacts = [{"source": "/app/out"}]
        data = vf.TaskData(idx=0, prompt="Write hello", answer="hello", artifacts=artifacts)
        yield BoxTask(data, self.config.task)


__all__ = ["Box"]
"""
WRITE = "mkdir -p /app/out && printf hello > /app/out/answer.txt"
VERDICT = {"verdicts": [{"name": "solved", "reason": "it is there", "verdict": "yes"}]}
JUDGE = f"grep -q hello /app/out/answer.txt && printf '{json.dumps(VERDICT)}' > /tmp/verdict.json"


def answer(request: Received) -> Reply | str:
    """That of a user, a judge or a solver; where there is a tool, a command comes first."""
    if "role-playing a USER" in str(request.messages[0]):
        return "Please write hello" if len(request.messages) < 4 else "###DONE###"
    if not request.body.get("tools"):
        return "hello"
    if any(each["role"] == "tool" for each in request.messages):
        return "done"
    command = JUDGE if "grading another agent" in request.last_user else WRITE
    return Reply(None, tool_calls=(tool_call("bash", {"command": command}),))


def evaluate(folder: Path, model: ScriptedModel, *words: str) -> Result:
    return prime_process(
        *("eval", "run", *words, "-m", "scripted", "-b", model.url, "-n", "1", "-r", "1"),
        *("--output", "json"),
        cwd=folder,
        env={**os.environ, "CONTAINER_HOST": podman_with_uv().url},
        timeout=SECONDS,
    )


def summary_of(done: Result) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


IN_PODMAN = "--env.{0}.runtime.type podman --env.{0}.runtime.image " + HARNESS_IMAGE
CASES = {
    "user_sim": ("--env.assistant.harness.id null", {"subprocess"}),
    "isolated_verifier": (IN_PODMAN.format("agent"), {"podman"}),
    "agentic_judge": (IN_PODMAN.format("solver"), {"podman"}),
    "shared_agentic_judge": (IN_PODMAN.format("solver"), {"podman"}),
}


@pytest.mark.sample(1, "kind")
@pytest.mark.parametrize("kind", CASES)
def test_an_environment_of_verifiers_runs_around_a_taskset(kind: str, tmp_path: Path) -> None:
    flags, runtimes = CASES[kind]
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8", newline="\n")
    (tmp_path / "box.py").write_text(BOX, encoding="utf-8", newline="\n")
    with ScriptedModel(answer) as model:
        done = evaluate(tmp_path, model, ".", "--env.id", kind, *flags.split())
    summary = summary_of(done)
    assert summary["reward"]["mean"] == 1.0
    assert {agent["runtime"] for agent in summary["environment"]["agents"]} == runtimes


TEST_SH = "mkdir -p /logs/verifier; grep -c hello /app/out/answer.txt > /logs/verifier/reward.txt\n"
COMPOSE = f"services:\n  main:\n    image: {HARNESS_IMAGE}\n"


def make_task(folder: Path, files: dict[str, str], *, image: str = "") -> list[str]:
    """A repository with the task `one`, and the flags that choose it."""
    task = folder / "tasks" / "one"
    toml = f'version = "1.0"\n[environment]\n{image and f"docker_image = {image!r}"}\n'
    for name, text in {"task.toml": toml, "instruction.md": "Write hello\n", **files}.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text, encoding="utf-8", newline="\n")
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@localhost commit -qm one"):
        subprocess.run(["git", *words.split()], cwd=folder / "tasks", check=True)
    source = {"name": "one", "git_url": f"file://{folder}/tasks", "path": "one"}
    dataset = {"name": "own", "version": "1", "description": "", "tasks": [source]}
    (folder / "registry.json").write_text(json.dumps([dataset]), encoding="utf-8", newline="\n")
    chosen = f"--env.taskset.dataset own --env.taskset.registry-path {folder}/registry.json"
    return [*chosen.split(), "--env.agent.runtime.type", "podman"]


@pytest.mark.sample(1, "harness")
@pytest.mark.parametrize("harness", ["bash", "mini_swe_agent"])
def test_a_task_of_harbor_is_scored_in_its_image(harness: str, tmp_path: Path) -> None:
    flags = make_task(tmp_path, {"tests/test.sh": TEST_SH}, image=HARNESS_IMAGE)
    with ScriptedModel(answer) as model:
        done = evaluate(tmp_path, model, "harbor", *flags, "--env.agent.harness.id", harness)
    assert summary_of(done)["reward"]["mean"] == 1.0


@pytest.mark.sample(1, "files")
@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"environment/Dockerfile": "FROM scratch\n", "tests/test.sh": TEST_SH},
         "building Dockerfiles isn't supported"),
        ({"environment/docker-compose.yaml": COMPOSE, "tests/test.sh": TEST_SH},
         "Harbor Compose requires Docker"),
        ({"environment/README": ""}, "does not contain tests/test.sh"),
    ],
    ids=["dockerfile", "compose", "untested"],
)  # fmt: skip
def test_a_task_of_harbor_that_cannot_run_says_why_and_calls_no_model(
    files: dict[str, str], reason: str, tmp_path: Path
) -> None:
    flags = make_task(tmp_path, files)
    with ScriptedModel(answer) as model:
        done = evaluate(tmp_path, model, "harbor", *flags)
        assert not [call for call in model.calls if call.method == "POST"]
    assert done.code != 0
    assert reason in done.out + done.err
