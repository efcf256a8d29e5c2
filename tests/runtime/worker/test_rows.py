import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from prime_cli.runtime.worker.request_identity import RolloutIdentity
from prime_cli.runtime.worker.rows import finished, messages, seconds, state_extras, trace_extras

FIRST = RolloutIdentity(0, 0, 1)
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize("reward", [None, math.nan, math.inf, "high"])
def test_a_reward_that_is_not_a_number_is_an_error(reward: Any) -> None:
    row = finished(FIRST, reward=reward)
    assert row["reward"] is None
    assert row["error"]["class"] == "environment"


def test_an_error_never_has_a_reward() -> None:
    error = {"class": "infra", "type": "E", "message": "", "retryable": True}
    assert finished(FIRST, reward=0.0, error=error)["reward"] is None


def test_metrics_are_numbers_or_nothing() -> None:
    row = finished(FIRST, reward=1, metrics={"a": True, "b": math.nan, "c": None})
    assert row["metrics"] == {"a": 1.0, "b": None, "c": None}


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        json.dumps(CALL),
        {"id": "c1", "name": "add", "arguments": '{"a": 1}'},
    ],
    ids=["objects", "JSON in a string", "the flat shape of 0.1.10"],
)
def test_tool_calls_are_objects_whatever_they_were(call: Any) -> None:
    [message] = messages([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert message == {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_a_text_completion_stays_text() -> None:
    assert messages("once upon a time") == "once upon a time"


def test_milliseconds_become_seconds() -> None:
    old = {"start_time": 1.7e9, "generation_ms": 1500.0, "scoring_ms": 2.0, "total_ms": 1502.0}
    assert seconds(old) == {"generation": 1.5, "scoring": 0.002, "total": 1.502}


def test_spans_become_seconds() -> None:
    new = {
        "start": 10.0,
        "setup": {"start": 10.0, "end": 10.5},
        "model": {"spans": [{"start": 1.0, "end": 2.0}, {"start": 3.0, "end": 3.25}]},
        "never": {"start": 0.0, "end": 0.0},
        "total": 4.0,
    }
    assert seconds(new) == {"setup": 0.5, "model": 1.25, "never": 0.0, "total": 4.0}


def test_timing_that_is_none_is_empty() -> None:
    assert seconds(None) == {}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def turn(asked: list[Any], answer: str) -> dict[str, Any]:
    return {"prompt": asked, "completion": [said(answer)]}


def test_turns_that_continue_each_other_are_one_conversation() -> None:
    first, second = turn([user("a")], "b"), turn([user("a"), said("b"), user("c")], "d")
    assert state_extras({"trajectory": [first, second]}, {}) == {}


def test_a_turn_that_continues_none_is_a_branch_of_its_own() -> None:
    whole = [turn([user("a")], "b"), turn([user("a"), said("b"), user("c")], "d")]
    compacted = turn([user("in short: a, b, c")], "e")
    found = state_extras({"trajectory": [*whole, compacted]}, {})
    assert found == {"branches": [[user("a"), said("b"), user("c"), said("d")]]}


def test_tools_are_kept_wherever_verifiers_has_them() -> None:
    tools = [{"name": "add", "parameters": {}}]
    assert state_extras({"tool_defs": tools}, None) == {"tool_defs": tools}
    assert state_extras({}, {"oai_tools": tools}) == {"tool_defs": tools}


def test_texts_have_no_branches() -> None:
    assert state_extras({"trajectory": [{"prompt": "a", "completion": "b"}]}, {}) == {}


def test_the_branches_of_a_trace_are_kept_but_for_the_last() -> None:
    nodes = [SimpleNamespace(message=each) for each in (user("a"), said("b"))]
    branches = [SimpleNamespace(nodes=nodes), SimpleNamespace(nodes=nodes[:1])]
    trace = SimpleNamespace(tools=[{"name": "add"}], branches=branches)
    assert trace_extras(trace) == {
        "tool_defs": [{"name": "add"}],
        "branches": [[user("a"), said("b")]],
    }
