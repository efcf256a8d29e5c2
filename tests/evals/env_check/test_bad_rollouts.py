"""Environments whose rollouts are not what they should be: endless, online, or with judges."""

from pathlib import Path

import pytest

from prime_cli.evals.env_check.network import Declaration
from tests.evals.env_check.small import GOOD, Sounded, sound_twice, with_class

pytestmark = pytest.mark.slow


def test_a_conversation_without_an_end_is_ended_and_reported(tmp_path: Path) -> None:
    talk = """
class Bad(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        while True:
            state = await super().rollout(input, client, model, sampling_args)
            if text(state).startswith("word"):
                return state
"""
    found = sound_twice(tmp_path, with_class(talk), first=1)
    assert found.status("ends") == "warn"
    assert found.status("gold") == "pass"
    assert found.status("errors") == "pass"


def test_a_rollout_that_takes_too_long_is_ended_and_reported(tmp_path: Path) -> None:
    slow = """
import asyncio

class Bad(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        await asyncio.sleep(3600)
"""
    found = sound_twice(tmp_path, with_class(slow), first=1, rollout_seconds=0.2)
    assert found.status("ends") == "fail"
    assert found.status("errors") == "pass"


def test_what_the_environment_warns_of_is_said_once(tmp_path: Path) -> None:
    warns = GOOD.replace(
        "def load_environment():",
        "print('no rows.json, using synthetic ones')\n\ndef load_environment():",
    )
    found = sound_twice(tmp_path, warns, first=1)
    assert found.said == ["The environment warns: no rows.json, using synthetic ones"]


OUTSIDE = """
import contextlib
import socket

def ask_for(host):
    with contextlib.suppress(OSError):
        socket.create_connection((host, 80), timeout=1)

ask_for("data.invalid")

class Bad(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        ask_for("api.tools.invalid")
        return await super().rollout(input, client, model, sampling_args)
"""


@pytest.mark.parametrize(
    ("declaration", "status"),
    [
        (Declaration(), "fail"),
        (Declaration(hosts=("other.invalid",)), "fail"),
        (Declaration(hosts=("tools.invalid",)), "pass"),
        (Declaration(hosts=None), "pass"),
    ],
)
def test_rollouts_ask_only_for_hosts_that_are_declared(
    declaration: Declaration, status: str, tmp_path: Path
) -> None:
    check = sound_twice(tmp_path, with_class(OUTSIDE), declaration).checks["network"]
    assert check.status == status
    assert check.evidence["rollout"] == ["api.tools.invalid"]
    assert check.evidence["load"] == ["data.invalid"]


def test_hosts_asked_for_while_loading_are_reported_and_pass(tmp_path: Path) -> None:
    source = GOOD.replace("def load_environment():", OUTSIDE + "\ndef load_environment():")
    check = sound_twice(tmp_path, source).checks["network"]
    assert check.status == "pass"
    assert "loading for data.invalid" in check.sentence


GROUPED = """
class Bad(vf.Environment):
    requires_group_rollouts = True

    async def run_group(self, *args, max_retries=0, **options):
        states = await super().run_group(*args, **options)
        mean = sum(state["reward"] for state in states) / len(states)
        for state in states:
            state["reward"] = SIGN * (state["reward"] - mean)
        return states
"""


@pytest.mark.parametrize(("sign", "status"), [(1, "pass"), (-1, "fail")])
def test_within_groups_no_poor_answer_is_as_good_as_the_gold_one(
    sign: int, status: str, tmp_path: Path
) -> None:
    found = sound_twice(tmp_path, with_class(f"SIGN = {sign}\n{GROUPED}"))
    assert found.first.start is not None
    assert found.first.start.unit == "group"
    assert {found.status("gold"), found.status("range")} == {"pass"}
    assert {found.status(name) for name in ("empty", "echo", "garbage")} == {status}


def judged(found: Sounded) -> set[str]:
    return {found.status(name) for name in ("gold", "empty", "errors")}


def test_a_judge_is_not_called_unless_it_may_be(tmp_path: Path) -> None:
    judge = """
class Bad(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        state = await super().rollout(input, client, model, sampling_args)
        await client.chat.completions.create(model="a-judge", messages=input["prompt"])
        return state
"""
    found = sound_twice(tmp_path, with_class(judge))
    assert judged(found) == {"skip"}
    assert "--judges" in found.checks["gold"].sentence
