"""Which harness plays a v1 taskset: upstream's default runs, and `null` here equals its process."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status, tool_call
from tests.helpers.venvs import venv_python
from tests.runtime.worker.runs import Said, run_worker, spec_for

RELEASES = ("0.3.0", "0.3.1", "0.4.0", "0.4.1.dev86")

BY_PROCESS = {"agent": {"harness": {"id": "null", "env": {"LANG": "C"}}}}
"""What a harness is given in its variables, only a process of its own can be given."""

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "version")]


def run(version: str, model: ScriptedModel, module: str, log: Path, **fields: Any) -> Said:
    python = venv_python(f"verifiers=={version}")
    return run_worker(spec_for(model, module, generation="v1", **fields), log, python)


def runs_the_command(request: Received) -> Reply:
    """Uses a bash tool where it is given one."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(f"it is {str(last['content']).strip()}")
    offered = {tool["function"]["name"] for tool in request.body.get("tools") or []}
    asked = re.search(r"echo .*", request.last_user)
    if "bash" not in offered or asked is None:
        return Reply("I cannot know")
    return Reply(None, tool_calls=(tool_call("bash", {"command": asked[0]}),))


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("extra", [{}, {"agent": {"harness": {"id": "bash"}}}])
def test_the_default_harness_is_that_of_verifiers(
    version: str, extra: dict[str, Any], log: Path
) -> None:
    with ScriptedModel(runs_the_command) as model:
        said = run(version, model, "shell_tasks", log, extra=extra)
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}, log.read_text(encoding="utf-8")[-2000:]
    [seat] = said.started.agents
    assert (seat.name, seat.harness, seat.runtime) == ("agent", "bash", "subprocess")
    assert seat.instead_of == (None if version == "0.3.0" else "prime")
    assert seat.runs_commands
    assert not seat.in_process


def test_without_a_network_it_runs_on_the_packages_of_the_environment(log: Path) -> None:
    with ScriptedModel(runs_the_command) as model:
        said = run("0.4.0", model, "shell_tasks", log, offline=True)
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}


@pytest.mark.sample(2, "said_of_it")
@pytest.mark.parametrize(
    ("module", "extra", "said_of_it"),
    [
        ("contained_tasks", {}, "needs a container, as ContainedTask says"),
        ("shell_tasks", {"agent": {"harness": {"id": "codex"}}}, "as CodexHarness says"),
        ("shell_tasks", {"agent": {"runtime": {"type": "prime"}}}, "needs an account"),
        ("shell_tasks", {"agent": {"runtime": {"type": "apptainer"}}}, "is not installed"),
    ],
)
def test_what_cannot_run_here_is_refused_before_a_call(
    module: str, extra: dict[str, Any], said_of_it: str, model: ScriptedModel, log: Path
) -> None:
    ended = run("0.4.0", model, module, log, extra=extra).ended
    assert ended.stage == "arguments"
    assert ended.error is not None
    assert said_of_it in ended.error.message
    assert not model.requests


def calls_a_tool_that_is_not_there(request: Received) -> Reply:
    if request.messages[-1]["role"] == "tool":
        return Reply(f"word0, since {request.messages[-1]['content']}")
    return Reply(None, tool_calls=(tool_call("search", {"for": "word0"}),))


def does_not_fit(request: Received) -> Reply:
    del request
    return status(400, message="This model's maximum context length is 10 tokens")


def refuses(request: Received) -> Reply:
    del request
    return status(400, message="no such model")


def echoes(request: Received) -> Reply:
    return Reply(request.last_user)


ANSWERS = {
    kind.__name__: kind for kind in (echoes, calls_a_tool_that_is_not_there, does_not_fit, refuses)
}


@pytest.mark.sample(2, "answer")
@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    ("module", "answer"),
    [
        ("echo_tasks", "echoes"),
        ("guess_tasks", "echoes"),
        ("echo_tasks", "calls_a_tool_that_is_not_there"),
        ("echo_tasks", "does_not_fit"),
        ("echo_tasks", "refuses"),
    ],
)
def test_null_in_this_process_is_null_in_its_own(
    version: str, module: str, answer: str, log: Path
) -> None:
    seen = []
    for extra in ({}, BY_PROCESS):
        with ScriptedModel(ANSWERS[answer]) as model:
            said = run(
                version,
                model,
                module,
                log,
                n=1,
                extra=extra,
                sampling={"temperature": 0.5},
            )
        [seat] = said.started.agents
        assert (seat.harness, seat.in_process) == ("null", extra == {})
        row = said.row(0)
        kind = row.error and (row.error.kind, row.error.type)
        bodies = [call.body for call in model.calls]
        seen.append((bodies, row.reward, row.completion, row.stop_condition, kind))
    here, by_process = seen
    assert here == by_process
