"""Environments that run code, with a model that calls their tools, on this machine."""

import os
import re
from pathlib import Path

import pytest

from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import prime_process as prime
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, tool_call
from tests.helpers.wild import Shape, write_project

KEY = "pit_planted_5f1e2d3c4b5a69788796"
SOURCE = """
import verifiers as vf
from datasets import Dataset


def load_environment(size: int = 2):
    rows = [
        {"question": f"Compute `{i}*7+3`.", "answer": str(i * 7 + 3)} for i in range(size)
    ]
    data = Dataset.from_list(rows)

    def correct(completion, answer, **kwargs):
        last = completion[-1]
        text = last["content"] if isinstance(last, dict) else last.content
        return 1.0 if answer in str(text).split() else 0.0

    options = dict(
        dataset=data, eval_dataset=data, rubric=vf.Rubric(funcs=[correct]), max_turns=6
    )
    return vf.KIND
"""
KINDS = {
    "python": 'PythonEnv(pip_install_packages="", **options)',
    "bash": "SandboxEnv(**options)",
}
CASES = [
    f"{kind} {setting}"
    for kind in KINDS
    # 0.1.14 needs a package that has to be built, which nothing is for `--sandbox`.
    for setting in ("0.1.14 open", "0.3.0 open", "0.3.0 --sandbox")
]


def solve(request: Received) -> Reply:
    """Two calls, the second of which needs what the first left, and then the answer."""
    results = [each for each in request.messages if each["role"] == "tool"]
    asked = re.search(r"`(.+?)`", request.last_user)
    assert asked is not None
    if len(results) == 2:
        return Reply(f"ANSWER {results[-1]['content']}")
    number, first = f"call_{len(results)}", not results
    tools = [tool["function"]["name"] for tool in request.body["tools"]]
    if "python" in tools:
        code = f"x = {asked[1]}\nx" if first else "x + 0"
        return Reply("", tool_calls=(tool_call("python", {"code": code}, id=number),))
    line = f"echo $(( {asked[1]} )) > /tmp/x; cat /tmp/x" if first else "cat /tmp/x; env"
    return Reply("", tool_calls=(tool_call("bash", {"command": line}, id=number),))


@pytest.mark.slow
@pytest.mark.sample(1, "case")
@pytest.mark.parametrize("case", CASES)
def test_rollouts_with_sandboxes_are_right_and_leave_nothing(
    case: str, home: Path, tmp_path: Path
) -> None:
    kind, verifiers, walls = case.split()
    data = home / ".prime" / "hub"
    mark_published(data)
    folder = write_project(tmp_path / "code", Shape(body=SOURCE.replace("KIND", KINDS[kind])))
    flags = ("--sandbox",) if walls != "open" else ()
    with ended_supervisor(data), ScriptedModel(solve) as model:
        run = prime(
            *("eval", "run", str(folder), "-m", "scripted", "-b", model.url, "-n", "2", "-r", "1"),
            *("--verifiers", verifiers, "--output", "json", *flags),
            cwd=tmp_path,
            env={"PRIME_TEAM_ID": "team_x", "OPENAI_API_KEY": KEY},
        ).ok()
        assert run.json["reward"]["mean"] == 1.0, run.err
        assert "Sandboxes: python:3.11-slim by bubblewrap on this machine" in run.err
        label = f"prime-run:{run.json['run_id']}"
        listed = prime("sandbox", "list", "--all", "--label", label, "-o", "json").ok().json
        assert [each["status"] for each in listed["sandboxes"]] == ["TERMINATED"] * 2
    for request in model.requests:
        assert KEY not in str(request.body)
    for file in (path for path in (tmp_path / "outputs").rglob("*") if path.is_file()):
        assert KEY not in file.read_text(errors="replace"), os.fspath(file)
