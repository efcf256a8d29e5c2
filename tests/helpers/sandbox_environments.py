"""Environments that run code in sandboxes, and evaluations of them by a model that calls tools."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import prime_process as prime
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, tool_call
from tests.helpers.wild import Shape, write_project

KEY = "pit_planted_5f1e2d3c4b5a69788796"
"""The user's, which reaches neither an environment nor a sandbox."""
SOURCE = """
import verifiers as vf
from datasets import Dataset


def load_environment(size: int = SIZE):
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
_SECONDS = 1200
INSTALLED = ("python3-sympy", "python3-scipy")
"""Debian packages that `PythonEnv` of verifiers 0.1.8 fetches for each sandbox, and then waits for
10 seconds alone."""
NEWEST = "newest"
"""No release is named: what a new project without pins gets."""


@dataclass(frozen=True)
class SandboxCase:
    """An environment of `kind` with a release of verifiers, within `--sandbox` or not."""

    kind: str
    verifiers: str
    is_walled: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.verifiers} {'--sandbox' if self.is_walled else 'open'}"


@dataclass(frozen=True)
class SandboxRun:
    """What an evaluation printed, and the states of its sandboxes afterwards."""

    shown: dict[str, Any]
    err: str
    statuses: list[str]


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


def evaluate(
    case: SandboxCase, rollouts: int, home: Path, folder: Path, env: Mapping[str, str]
) -> SandboxRun:
    """Run it in `folder`, with sandboxes of this machine's providers; they end with it.

    Raises AssertionError if it fails, or if the user's key is found where it must not be.
    """
    data = home / ".prime" / "hub"
    mark_published(data)
    body = SOURCE.replace("KIND", KINDS[case.kind]).replace("SIZE", str(rollouts))
    project = write_project(folder / "code", Shape(body=body))
    flags = ["--sandbox"] if case.is_walled else []
    if case.verifiers != NEWEST:
        flags += ["--verifiers", case.verifiers]
    with ended_supervisor(data), ScriptedModel(solve) as model:
        run = prime(
            *("eval", "run", str(project), "-m", "scripted", "-b", model.url),
            *("-n", str(rollouts), "-r", "1", "--output", "json", *flags),
            cwd=folder,
            env={**env, "PRIME_TEAM_ID": "team_x", "OPENAI_API_KEY": KEY},
            timeout=_SECONDS,
        ).ok()
        label = f"prime-run:{run.json['run_id']}"
        listed = prime("sandbox", "list", "--all", "--label", label, "-o", "json", env=env).ok()
    for request in model.requests:
        assert KEY not in str(request.body)
    for file in (path for path in (folder / "outputs").rglob("*") if path.is_file()):
        assert KEY not in file.read_text(errors="replace"), os.fspath(file)
    statuses = [each["status"] for each in listed.json["sandboxes"]]
    return SandboxRun(run.json, run.err, statuses)
