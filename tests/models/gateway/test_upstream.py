"""Calls go where their model is served, each with the key of that place and no other."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from prime_cli.core.builtin_models import VERDICTS
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.builtin import BuiltinModels
from prime_cli.models.gateway.calls import Call, Reply
from prime_cli.models.gateway.oracle import GoldAnswers
from prime_cli.models.gateway.retries import RetryPolicy
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.gateway.upstream import ModelRouter
from prime_cli.models.providers import EndpointSecret, KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.scripted_model import Received, ScriptedModel
from tests.helpers.scripted_model import Reply as Scripted


def authorizations(model: ScriptedModel) -> list[str]:
    return [request.headers["authorization"] for request in model.requests]


def test_every_model_goes_to_its_own_place_with_its_own_key() -> None:
    async def scenario() -> list[Answered]:
        entry = RegistryEntry("judge", "big-judge", registered.url, KeySource("JUDGE_KEY"))
        environ = {
            "JUDGE_KEY": "sk-judge",
            "OPENAI_API_KEY": "sk-own",
            "OPENAI_BASE_URL": own.url,
        }
        endpoint = Endpoint("policy", policy.url, EndpointSecret("sk-policy"))
        async with Gateway(endpoint, Registry(entries=(entry,)), environ=environ) as gate:
            return [await ask(gate, model=m) for m in ("policy", "judge", "big-judge", "gpt-9")]

    with ExitStack() as stack:
        policy, registered, own = (stack.enter_context(ScriptedModel()) for _ in range(3))
        answers = run(scenario())
    assert [answered.status for answered in answers] == [200] * 4
    assert authorizations(policy) == ["Bearer sk-policy"]
    assert authorizations(registered) == ["Bearer sk-judge"] * 2
    assert [request.body["model"] for request in registered.requests] == ["big-judge"] * 2
    assert authorizations(own) == ["Bearer sk-own"]


def test_only_calls_of_the_runs_model_go_where_the_policy_is() -> None:
    async def scenario() -> None:
        settings = GatewaySettings(policy_of=lambda _: Endpoint("weights", policy.url))
        environ = {"OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": own.url}
        async with Gateway(Endpoint("policy"), settings=settings, environ=environ) as gate:
            for model in ("policy", "gpt-9"):
                await ask(gate, model=model, rollout="0.0.1")
            # These two have nowhere else to go, as the run has no address.
            await ask(gate, model="policy", rollout="0.0.1", headers={"X-Prime-Role": "judge"})
            await ask(gate, model="policy")

    with ScriptedModel() as policy, ScriptedModel() as own:
        run(scenario())
        assert [request.body["model"] for request in policy.requests] == ["weights"] * 3
        assert [request.body["model"] for request in own.requests] == ["gpt-9"]


def test_a_judge_that_goes_to_a_service_by_its_name_is_said_once() -> None:
    async def send(_endpoint: Endpoint, _call: Call) -> Reply:
        raise AssertionError("nothing is called")

    said: list[str] = []
    router = ModelRouter(
        Endpoint("policy", "http://127.0.0.1:9/v1"),
        Registry(),
        send=send,
        builtin=BuiltinModels(GoldAnswers(), "run", None),
        environ={"ANTHROPIC_API_KEY": "sk-ant", "OPENAI_API_KEY": "sk-own"},
        offline=False,
        say=said.append,
    )
    found = [router.group_of("claude-judge")[0].key_var for _ in range(2)]
    assert found == ["ANTHROPIC_API_KEY"] * 2
    assert router.group_of("gpt-9")[0].key_var == "OPENAI_API_KEY"
    assert said == [
        "`claude-judge` is at https://api.anthropic.com/v1, with the key in ANTHROPIC_API_KEY"
    ]


def test_an_unknown_model_says_what_to_do() -> None:
    async def scenario(model: ScriptedModel) -> Answered:
        async with Gateway(Endpoint("policy", model.url), environ={}) as gate:
            return await ask(gate, model="gpt-9")

    with ScriptedModel() as model:
        answered = run(scenario(model))
        assert model.requests == []
    assert answered.status == 404
    assert answered.error["class"] == "environment"
    assert "`gpt-9` is not the model of this run (`policy`)" in answered.error["message"]
    assert "endpoints.toml" in answered.error["message"]


def test_offline_other_models_stay_on_this_machine() -> None:
    async def scenario(model: ScriptedModel) -> Answered:
        environ = {"OPENAI_API_KEY": "sk-own"}
        async with Gateway(Endpoint("policy", model.url), environ=environ, offline=True) as gate:
            assert (await ask(gate, model="policy")).status == 200
            return await ask(gate, model="gpt-9")

    with ScriptedModel() as model:
        answered = run(scenario(model))
    assert answered.status == 404
    assert "offline" in answered.error["message"]


def test_a_group_is_used_in_turn() -> None:
    async def scenario() -> None:
        others = (Endpoint("policy", second.url),)
        async with Gateway(Endpoint("policy", first.url, others=others), environ={}) as gate:
            for _ in range(4):
                await ask(gate, model="policy")

    with ScriptedModel() as first, ScriptedModel() as second:
        run(scenario())
        assert (len(first.calls), len(second.calls)) == (2, 2)


def test_a_judge_may_be_a_built_in_model() -> None:
    async def scenario(model: ScriptedModel) -> Answered:
        async with Gateway(Endpoint("policy", model.url), environ={}) as gate:
            return await ask(gate, "same", model="builtin/echo")

    with ScriptedModel() as model:
        assert run(scenario(model)).said == "same"
        assert model.requests == []


def test_made_up_verdicts_stand_in_for_every_other_model() -> None:
    async def scenario(model: ScriptedModel) -> list[str]:
        settings = GatewaySettings(others=Endpoint(VERDICTS, builtin=True))
        async with Gateway(Endpoint("policy", model.url), settings=settings, environ={}) as gate:
            asked = [str(n) for n in range(40)]
            said = [(await ask(gate, each, model="gpt-9")).said for each in asked]
            again = [(await ask(gate, each, model="judge")).said for each in asked]
        assert said == again
        return said

    with ScriptedModel() as model:
        assert {"yes", "no"} < set(run(scenario(model)))
        assert model.requests == []


def test_in_a_sandbox_no_key_is_used_that_nobody_named() -> None:
    async def scenario() -> list[int]:
        entry = RegistryEntry("judge", "big-judge", judge.url, KeySource("JUDGE_KEY"))
        environ = {"JUDGE_KEY": "sk-judge", "OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": own.url}
        sandboxed = GatewaySettings(sandboxed=True)
        endpoint = Endpoint("policy", policy.url, EndpointSecret("sk-policy"))
        async with Gateway(
            endpoint, Registry(entries=(entry,)), environ=environ, settings=sandboxed
        ) as gate:
            return [(await ask(gate, model=m)).status for m in ("policy", "judge", "gpt-9")]

    with ExitStack() as stack:
        policy, judge, own = (stack.enter_context(ScriptedModel()) for _ in range(3))
        assert run(scenario()) == [200, 200, 404]
        assert own.requests == []


def test_in_a_sandbox_other_models_of_the_runs_own_endpoint_may_judge() -> None:
    async def scenario(model: ScriptedModel) -> Answered:
        environ = {"OPENAI_API_KEY": "sk-own", "OPENAI_BASE_URL": model.url}
        endpoint = Endpoint("policy", model.url, EndpointSecret("sk-own"))
        async with Gateway(
            endpoint, environ=environ, settings=GatewaySettings(sandboxed=True)
        ) as gate:
            return await ask(gate, model="gpt-9")

    with ScriptedModel() as model:
        assert run(scenario(model)).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "files"), ("DELETE", "files/f-1"), ("GET", "responses/r-1"), ("POST", "batches")],
)
def test_a_sandbox_asks_nothing_about_the_account(method: str, path: str) -> None:
    async def scenario(model: ScriptedModel) -> Answered:
        sandboxed = GatewaySettings(sandboxed=True)
        async with Gateway(Endpoint("m", model.url), environ={}, settings=sandboxed) as gate:
            return await ask(gate, model="m", method=method, path=path)

    with ScriptedModel() as model:
        answered = run(scenario(model))
        assert model.requests == []
    assert answered.status == 403
    assert answered.error["class"] == "environment"


def fails_on_null(request: Received) -> Scripted:
    """As transformers' server does."""
    if any(value is None for message in request.messages for value in message.values()):
        return Scripted(status=500, raw=b"Internal Server Error")
    return Scripted("fine")


def refuses_two_nulls(request: Received) -> Scripted:
    """As vLLM 0.32 does."""
    if any("content" in m and m["content"] is m.get("tool_calls", "") for m in request.messages):
        found = "20 validation errors:\n  {'type': 'iterable_type', 'input': 'None'}"
        return Scripted(status=400, raw=json.dumps({"error": {"message": found}}).encode())
    return Scripted("fine")


WITH_NULL: list[dict[str, Any]] = [
    {"role": "assistant", "content": "a", "tool_calls": None},
    {"role": "user", "content": "b"},
]


@pytest.mark.parametrize(("server", "content"), [(fails_on_null, "a"), (refuses_two_nulls, None)])
def test_a_server_that_fails_on_null_fields_gets_calls_without_them(
    server: Callable[[Received], Scripted], content: str | None
) -> None:
    messages = [{**WITH_NULL[0], "content": content}, *WITH_NULL[1:]]
    said: list[str] = []

    async def scenario() -> list[int]:
        async with Gateway(Endpoint("m", model.url), say=said.append) as gate:
            answers = [await ask(gate, model="m", messages=messages) for _ in range(2)]
            return [answer.status for answer in answers]

    with ScriptedModel(server) as model:
        assert run(scenario()) == [200, 200]
    # Only the first call is sent as it was.
    assert ["tool_calls" in each.messages[0] for each in model.requests] == [True, False, False]
    (sentence,) = said
    assert "failed on a call with null fields" in sentence


def test_a_server_that_also_closes_the_connection_is_asked_again_without_them() -> None:
    async def scenario() -> int:
        settings = GatewaySettings(retries=RetryPolicy(first_s=0.01))
        async with Gateway(Endpoint("m", model.url), settings=settings) as gate:
            return (await ask(gate, model="m", messages=WITH_NULL)).status

    with ScriptedModel(fails_on_null) as model:
        model.queue(fails_on_null, Scripted(close=True))
        assert run(scenario()) == 200
    assert ["tool_calls" in each.messages[0] for each in model.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("raw", "messages"),
    [(b'{"error": "no memory"}', WITH_NULL), (b"Internal Server Error", WITH_NULL[1:])],
)
def test_other_failures_of_a_server_are_passed_on(raw: bytes, messages: Any) -> None:
    async def scenario() -> int:
        settings = GatewaySettings(retries=RetryPolicy(server_error=0))
        async with Gateway(Endpoint("m", model.url), settings=settings) as gate:
            return (await ask(gate, model="m", messages=messages)).status

    with ScriptedModel(lambda _: Scripted(status=500, raw=raw)) as model:
        assert run(scenario()) == 500
    assert len(model.requests) == 1
