"""What a row keeps of a rollout beside its last conversation."""

from types import SimpleNamespace
from typing import Any

from prime_cli.runtime.worker.branches import of_state, of_trace


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def turn(asked: list[Any], answer: str) -> dict[str, Any]:
    return {"prompt": asked, "completion": [said(answer)]}


def test_turns_that_continue_each_other_are_one_conversation() -> None:
    first, second = turn([user("a")], "b"), turn([user("a"), said("b"), user("c")], "d")
    assert of_state({"trajectory": [first, second]}, {}) == {}


def test_a_turn_that_continues_none_is_a_branch_of_its_own() -> None:
    whole = [turn([user("a")], "b"), turn([user("a"), said("b"), user("c")], "d")]
    compacted = turn([user("in short: a, b, c")], "e")
    found = of_state({"trajectory": [*whole, compacted]}, {})
    assert found == {"branches": [[user("a"), said("b"), user("c"), said("d")]]}


def test_tools_are_kept_wherever_verifiers_has_them() -> None:
    tools = [{"name": "add", "parameters": {}}]
    assert of_state({"tool_defs": tools}, None) == {"tool_defs": tools}
    assert of_state({}, {"oai_tools": tools}) == {"tool_defs": tools}


def test_texts_have_no_branches() -> None:
    assert of_state({"trajectory": [{"prompt": "a", "completion": "b"}]}, {}) == {}


def test_the_branches_of_a_trace_are_kept_but_for_the_last() -> None:
    nodes = [SimpleNamespace(message=each) for each in (user("a"), said("b"))]
    branches = [SimpleNamespace(nodes=nodes), SimpleNamespace(nodes=nodes[:1])]
    trace = SimpleNamespace(tools=[{"name": "add"}], branches=branches)
    assert of_trace(trace) == {"tool_defs": [{"name": "add"}], "branches": [[user("a"), said("b")]]}
