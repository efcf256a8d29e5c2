"""`builtin/echo` and `builtin/oracle` answer without a key, a network or chance."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.oracle import GoldAnswers, OracleQuestion
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import TokenUsage
from tests.helpers.gateway_client import Answered, ask, run

ECHO = Endpoint("builtin/echo", builtin=True)
ORACLE = Endpoint("builtin/oracle", builtin=True)


def echo(text: str = "hello", **fields: Any) -> Answered:
    async def scenario() -> Answered:
        async with Gateway(ECHO, environ={}) as gate:
            return await ask(gate, text, model="builtin/echo", **fields)

    return run(scenario())


def oracle(gold: GoldAnswers, rollout: str | None = "0.0.1", **fields: Any) -> Answered:
    async def scenario() -> Answered:
        async with Gateway(ORACLE, gold=gold, environ={}) as gate:
            return await ask(gate, model="builtin/oracle", rollout=rollout, **fields)

    return run(scenario())


def test_echo_says_the_last_user_message_again() -> None:
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
        {"role": "tool", "content": "y"},
    ]
    assert echo(messages=messages).said == "a"


def test_a_model_that_needs_a_server_is_not_answered_without_it() -> None:
    async def scenario() -> Answered:
        async with Gateway(ECHO, environ={}) as gate:
            return await ask(gate, "hello", model="builtin/smollm2")

    answered = run(scenario())
    assert answered.status == 404
    assert "No server of `builtin/smollm2`" in answered.json["error"]["message"]


def test_echo_completes_texts_and_repeats_choices() -> None:
    answered = echo(path="completions", prompt="tell me", n=2, messages=[])
    assert [choice["text"] for choice in answered.json["choices"]] == ["tell me"] * 2


def test_echo_streams_the_same_answer() -> None:
    answered = echo("one two", stream=True, stream_options={"include_usage": True})
    assert answered.events[0]["choices"][0]["delta"]["content"] == "one two"
    assert answered.events[-1]["usage"]["completion_tokens"] == 2


def test_words_are_counted_as_estimated_tokens() -> None:
    async def scenario() -> None:
        async with Gateway(ECHO, environ={}) as gate:
            for stream in (False, True):
                await ask(gate, "one two three", model="builtin/echo", stream=stream)
            one = TokenUsage(calls=1, input=3, output=3, estimated=1)
            assert gate.ledger.total() == one + one

    run(scenario())


def test_the_built_in_model_is_listed() -> None:
    assert echo(path="models", method="GET").json["data"][0]["id"] == "builtin/echo"


@pytest.mark.parametrize("path", ["embeddings", "audio/speech"])
def test_other_paths_are_refused(path: str) -> None:
    answered = echo(path=path)
    assert answered.status == 404
    assert path in answered.error["message"]


def test_a_request_that_is_not_a_completion_is_refused() -> None:
    assert echo(messages="not a list").status == 400


def test_the_oracle_knows_the_gold_answer_of_the_example() -> None:
    gold = {"0": "zero", "1": 1}
    assert oracle(GoldAnswers(gold)).said == "zero"
    assert oracle(GoldAnswers(gold), "1.5.1").said == "1"


def test_the_oracle_does_not_guess_for_a_stranger() -> None:
    answered = oracle(GoldAnswers({"0": "zero"}), rollout=None)
    assert answered.status == 400
    assert "names none" in answered.error["message"]


def test_an_example_without_an_answer_is_reported() -> None:
    answered = oracle(GoldAnswers({"0": None}))
    assert answered.status == 422
    assert answered.error["class"] == "environment"
    assert "Example 0 has no gold answer" in answered.error["message"]


def asking(reply: str | Mapping[str, Any] | None) -> tuple[GoldAnswers, list[OracleQuestion]]:
    asked: list[OracleQuestion] = []

    async def ask_environment(question: OracleQuestion) -> str | Mapping[str, Any] | None:
        asked.append(question)
        if reply == "raise":
            raise EnvironmentFailed("The oracle failed: ValueError: no")
        return reply

    gold = GoldAnswers()
    gold.learn({"0": "gold"}, ask_environment)
    return gold, asked


def test_the_environments_own_oracle_is_asked_first() -> None:
    call = {"name": "add", "arguments": {"a": 1}}
    gold, asked = asking({"content": None, "tool_calls": [call]})
    message = oracle(gold, tools=[{"type": "function"}]).json["choices"][0]["message"]
    function = {"name": "add", "arguments": '{"a":1}'}
    assert message["tool_calls"] == [{"id": "call_0", "type": "function", "function": function}]
    assert asked == [
        OracleQuestion(0, [{"role": "user", "content": "hello"}], [{"type": "function"}])
    ]


def test_tool_calls_are_streamed_with_their_index() -> None:
    gold, _ = asking({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]})
    events = oracle(gold, stream=True).events
    assert events[0]["choices"][0]["delta"]["tool_calls"][0]["index"] == 0
    assert events[1]["choices"][0]["finish_reason"] == "tool_calls"


def test_an_oracle_that_passes_leaves_it_to_the_gold_answer() -> None:
    gold, _ = asking(None)
    assert oracle(gold).said == "gold"


def test_an_oracle_that_raises_is_the_environments_fault() -> None:
    gold, _ = asking("raise")
    answered = oracle(gold)
    assert (answered.status, answered.error["class"]) == (422, "environment")
    assert "ValueError" in answered.error["message"]


def test_a_call_before_the_start_waits_for_the_answers() -> None:
    async def scenario() -> Answered:
        gold = GoldAnswers()
        async with Gateway(ORACLE, gold=gold, environ={}) as gate:
            call = asyncio.create_task(ask(gate, model="builtin/oracle", rollout="0.0.1"))
            await asyncio.sleep(0.05)
            assert not call.done()
            gold.learn({"0": "late"})
            return await call

    assert run(scenario()).said == "late"


def test_answers_that_never_come_are_not_waited_for_long() -> None:
    answered = oracle(GoldAnswers(patience=0.05))
    assert "did not arrive" in answered.error["message"]
