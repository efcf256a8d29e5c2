"""`builtin/replay:RUN` gives the recorded turn of the same conversation, or none."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import CallFailed, CallIdentity
from prime_cli.models.gateway.replay import Recorded, essence, replay
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.registry import Registry
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.scripted_model import tool_call

MODEL = "builtin/replay:1f2e3d4c"
ASKED = {"role": "user", "content": "add 1 and 2"}
CALLS = {"role": "assistant", "content": None, "tool_calls": [tool_call("add", {"a": 1, "b": 2})]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "3"}
SAID = {"role": "assistant", "content": "three"}


@dataclass(frozen=True)
class Shelf:
    """A recording in memory."""

    rollouts: dict[tuple[int, int], Recorded] = field(default_factory=dict)
    model: str = MODEL

    def find(self, example: int, rollout: int) -> Recorded | None:
        return self.rollouts.get((example, rollout))


SHELF = Shelf({(0, 1): Recorded([ASKED], [CALLS, RESULT, SAID])})


def answer(*messages: Any, rollout: str = "0.1.1", shelf: Shelf = SHELF, **fields: Any) -> Answered:
    async def scenario() -> Answered:
        endpoint = Endpoint(MODEL, builtin=True)
        async with Gateway(endpoint, Registry(), environ={}, recording=shelf) as gate:
            told = {"messages": list(messages)} | fields
            said = await ask(gate, model=MODEL, rollout=rollout, **told)
            assert gate.ledger.spent().usd == 0.0
            return said

    return run(scenario())


def refused(*messages: Any, **told: Any) -> str:
    answered = answer(*messages, **told)
    assert (answered.status, answered.error["class"]) == (422, "environment")
    assert answered.headers["x-should-retry"] == "false"
    return str(answered.error["message"])


def test_each_turn_is_the_one_that_followed_these_messages() -> None:
    first = answer(ASKED).json["choices"][0]
    assert first["message"]["tool_calls"] == [tool_call("add", {"a": 1, "b": 2})]
    assert first["finish_reason"] == "tool_calls"
    assert answer(ASKED, CALLS, RESULT).said == "three"


def test_a_call_that_is_repeated_is_answered_alike() -> None:
    assert answer(ASKED).json["choices"] == answer(ASKED).json["choices"]


def test_turns_are_streamed_as_well() -> None:
    events = answer(ASKED, CALLS, RESULT, stream=True).events
    assert events[0]["choices"][0]["delta"]["content"] == "three"


def test_a_changed_message_is_reported_with_its_turn() -> None:
    changed = {**RESULT, "content": "4"}
    assert refused(ASKED, CALLS, changed) == (
        "The conversation of example 0, rollout 1 differs from the recorded one at turn 2: "
        "message 3 (tool) differs"
    )
    assert "at turn 1: message 1 (user)" in refused({"role": "user", "content": "add 2 and 2"})


def test_turns_and_rollouts_that_were_not_recorded_are_reported() -> None:
    more = {"role": "user", "content": "and then?"}
    whole = [ASKED, CALLS, RESULT, SAID]
    assert "at turn 3: message 5 (user)" in refused(*whole, more)
    assert "ends before turn 3" in refused(*whole)
    assert refused(ASKED, rollout="7.0.1") == f"`{MODEL}` has no example 7, rollout 0"
    broken = Shelf({(0, 1): Recorded([ASKED], [], ended_by="APIConnectionError")})
    assert refused(ASKED, shelf=broken).endswith("(it ended with APIConnectionError)")


def test_a_judge_is_not_answered_with_the_turns_of_the_policy() -> None:
    assert "the policy's turns only" in refused(ASKED, rollout="0.1.1.judge")


def test_an_answer_that_was_cut_is_cut_again() -> None:
    shelf = Shelf({(0, 1): Recorded([ASKED], [SAID], was_cut=True)})
    assert answer(ASKED, shelf=shelf).json["choices"][0]["finish_reason"] == "length"


def test_text_completions_are_replayed() -> None:
    shelf = Shelf({(0, 1): Recorded("once upon", " a time")})
    told = answer(shelf=shelf, path="completions", prompt="once upon")
    assert told.json["choices"][0]["text"] == " a time"
    assert "turn 1" in refused(shelf=shelf, path="completions", prompt="twice")


def test_another_recording_is_not_the_model_of_this_run() -> None:
    with pytest.raises(CallFailed, match="not the model of this run"):
        replay(SHELF, "builtin/replay:9a8b", CallIdentity(0, 1, 1, "policy"), [ASKED])


@pytest.mark.parametrize(
    "shape",
    [
        {**CALLS, "content": ""},
        {**CALLS, "tool_calls": [{"id": "x", "name": "add", "arguments": '{"b":2,"a":1}'}]},
        {**CALLS, "tool_calls": ['{"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}']},
        {**CALLS, "reasoning_content": "hm", "refusal": None},
    ],
)
def test_messages_are_the_same_in_all_shapes_they_are_saved_in(shape: dict[str, Any]) -> None:
    assert essence(shape) == essence(CALLS)
    assert answer(ASKED, shape, RESULT).said == "three"


@given(st.text(), st.text())
def test_texts_are_the_same_as_one_part_or_whole_and_differ_otherwise(a: str, b: str) -> None:
    whole = essence({"role": "user", "content": a})
    assert whole == essence({"role": "user", "content": [{"type": "text", "text": a}]})
    assert (whole == essence({"role": "user", "content": b})) == (a == b)
