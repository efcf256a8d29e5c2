"""The gateway over real sockets: who may call, who is counted, what passes."""

import asyncio

import pytest

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.preflight import check_endpoint
from prime_cli.models.prices import TokenUsage
from prime_cli.models.providers import EndpointSecret
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.scripted_model import Reply, ScriptedModel, tool_call

KEY = EndpointSecret("sk-real")


def gateway(model: ScriptedModel) -> Gateway:
    return Gateway(Endpoint("scripted", model.url, KEY), environ={})


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
@pytest.mark.parametrize("by", ["prefix", "headers"])
def test_a_call_is_answered_and_counted_for_its_rollout(unix: bool, by: str) -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            if by == "prefix":
                answered = await ask(gate, "two words", rollout="4.1.2", unix=unix)
            else:
                who = {"X-Prime-Example": "4", "X-Prime-Rollout": "1", "X-Prime-Attempt": "2"}
                answered = await ask(gate, "two words", headers=who, unix=unix)
            assert answered.said == "two words"
            assert gate.ledger.used_by(4, 1, 2, "policy") == TokenUsage(calls=1, input=2, output=2)
            assert gate.ledger.used_by(4, 1, 1, "policy") == TokenUsage()

    with ScriptedModel() as model:
        run(scenario(model))


def test_roles_are_counted_apart_and_strangers_as_unattributed() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            await ask(gate, rollout="0.0.1")
            await ask(gate, rollout="0.0.1", headers={"X-Prime-Role": "judge"})
            await ask(gate)
            one = TokenUsage(calls=1, input=1, output=1)
            assert gate.ledger.by_role() == {"policy": one, "judge": one, "unattributed": one}
            assert gate.ledger.used_by(0, 0, 1, None) == one + one
            assert gate.ledger.total() == one + one + one
            assert gate.ledger.total().calls == 3

    with ScriptedModel() as model:
        run(scenario(model))


def test_cached_and_reasoning_tokens_are_counted() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }

    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            await ask(gate, rollout="0.0.1")
            expected = TokenUsage(calls=1, input=100, cached=80, output=50, reasoning=40)
            assert gate.ledger.used_by(0, 0, 1, "policy") == expected

    with ScriptedModel(Reply("x", usage=usage)) as model:
        run(scenario(model))


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_the_runs_token_nothing_is_sent_on(token: str) -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            answered = await ask(gate, token=token)
            assert answered.status == 401
            assert answered.error["code"] == "invalid_api_key"
            assert gate.ledger.total().calls == 0

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.requests == []


def test_a_key_that_the_environment_was_allowed_opens_the_gateway_and_goes_no_further() -> None:
    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url, KEY)
        settings = GatewaySettings(also_accepted=("sk-the-users",))
        async with Gateway(endpoint, environ={}, settings=settings) as gate:
            for token in (gate.token, "sk-the-users"):
                assert (await ask(gate, token=token)).status == 200
            assert (await ask(gate, token="sk-another")).status == 401
        assert {call.headers["authorization"] for call in model.calls} == {"Bearer sk-real"}

    with ScriptedModel() as model:
        run(scenario(model))


def test_the_key_is_put_on_here_and_the_runs_own_headers_taken_off() -> None:
    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url, KEY, {"X-Team": "blue"})
        async with Gateway(endpoint, environ={}) as gate:
            sent = {"X-Session-ID": "7", "Cookie": "a=b", "x-stainless-lang": "python"}
            await ask(gate, rollout="0.0.1", headers=sent)
            assert gate.token not in str(model.requests[0].headers)

    with ScriptedModel() as model:
        run(scenario(model))
        headers = model.requests[0].headers
    assert headers["authorization"] == "Bearer sk-real"
    assert (headers["x-team"], headers["x-session-id"]) == ("blue", "7")
    assert not {"cookie", "x-stainless-lang", "x-prime-example"} & set(headers)


def test_a_users_own_authorization_header_wins() -> None:
    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url, KEY, {"authorization": "Basic abc"})
        async with Gateway(endpoint, environ={}) as gate:
            await ask(gate)

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.requests[0].headers["authorization"] == "Basic abc"


def test_requests_and_answers_pass_with_everything_in_them() -> None:
    call = tool_call("add", {"a": 1})

    async def scenario(model: ScriptedModel) -> Answered:
        async with gateway(model) as gate:
            return await ask(gate, tools=[{"type": "function"}], seed=3, unknown={"x": [1.5]})

    with ScriptedModel(Reply(None, tool_calls=(call,))) as model:
        answered = run(scenario(model))
        body = model.requests[0].body
    assert (body["seed"], body["unknown"], body["tools"]) == (
        3,
        {"x": [1.5]},
        [{"type": "function"}],
    )
    assert answered.json["choices"][0]["message"]["tool_calls"] == [call]


def test_large_requests_pass() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            text = "x" * 3_000_000
            assert (await ask(gate, text)).said == text

    with ScriptedModel() as model:
        run(scenario(model))


def test_other_paths_pass_through_and_uncounted() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            listed = await ask(gate, path="models?limit=5", method="GET")
            assert listed.json["data"][0]["id"] == "scripted"
            assert gate.ledger.total().calls == 0

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.requests[0].path == "/v1/models?limit=5"


@pytest.mark.parametrize("path", ["../admin", "%2e%2e/admin", "files/%2E%2E/x"])
def test_paths_stay_below_v1(path: str) -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            port = int(gate.base_url.split(":")[2].split("/")[0])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"GET /v1/{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {gate.token}\r\n"
            writer.write(f"{head}connection: close\r\n\r\n".encode())
            assert b" 404 " in (await reader.read()).split(b"\r\n")[0]
            writer.close()

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.requests == []


def test_an_embedding_is_counted_by_its_usage() -> None:
    body = b'{"object": "list", "data": [], "usage": {"prompt_tokens": 9, "total_tokens": 9}}'

    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            assert (await ask(gate, path="embeddings")).status == 200
            assert gate.ledger.total() == TokenUsage(calls=1, input=9)

    with ScriptedModel(Reply(raw=body)) as model:
        run(scenario(model))


def test_the_usage_of_responses_is_understood() -> None:
    body = (
        b'{"object": "response", "output": [], "usage": {"input_tokens": 5, "output_tokens": 4,'
        b'"input_tokens_details": {"cached_tokens": 3}}}'
    )

    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            await ask(gate, path="responses")
            assert gate.ledger.total() == TokenUsage(calls=1, input=5, cached=3, output=4)

    with ScriptedModel(Reply(raw=body)) as model:
        run(scenario(model))


def test_a_call_without_a_usage_is_counted_as_uncounted() -> None:
    body = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}'

    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            assert (await ask(gate)).said == "x"
            assert gate.ledger.total() == TokenUsage(calls=1, uncounted=1)

    with ScriptedModel(Reply(raw=body)) as model:
        run(scenario(model))


def test_the_sockets_folder_is_gone_afterwards() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(model) as gate:
            path = gate.socket_path
            assert path is not None
            assert path.parent.stat().st_mode & 0o077 == 0
        assert not path.parent.exists()

    with ScriptedModel() as model:
        run(scenario(model))


def test_the_query_of_an_endpoint_comes_before_that_of_a_call() -> None:
    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url, query="api-version=2024-10-21")
        async with Gateway(endpoint, environ={}) as gate:
            await ask(gate, rollout="0.0.1")
            await ask(gate, path="files?limit=2", method="GET")
        await check_endpoint(endpoint)

    with ScriptedModel() as model:
        run(scenario(model))
        assert [request.path for request in model.requests] == [
            "/v1/chat/completions?api-version=2024-10-21",
            "/v1/files?api-version=2024-10-21&limit=2",
            "/v1/models?api-version=2024-10-21",
        ]


def test_a_judges_model_is_asked_at_openai_base_url_with_its_query() -> None:
    async def scenario(model: ScriptedModel) -> None:
        environ = {
            "OPENAI_BASE_URL": f"{model.url}?api-version=2024-10-21",
            "OPENAI_API_KEY": "sk-judge",
        }
        async with Gateway(Endpoint("scripted", model.url), environ=environ) as gate:
            assert (await ask(gate, model="judge")).status == 200

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.calls[0].path.endswith("?api-version=2024-10-21")
