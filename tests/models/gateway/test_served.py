"""Who answered is counted, by what the answers say of themselves."""

import json

import pytest

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.gateway.server import Gateway
from tests.helpers.gateway_client import ask, run
from tests.helpers.scripted_model import Reply, ScriptedModel

SAID = Reply("x", model="scripted-2026-04-14", fingerprint="fp_1")
THAT = ServedBy("policy", "scripted", "scripted-2026-04-14", "fp_1")


def served(model: ScriptedModel, **call: object) -> dict[ServedBy, int]:
    async def scenario() -> dict[ServedBy, int]:
        async with Gateway(Endpoint("scripted", model.url), environ={}) as gateway:
            await ask(gateway, rollout="0.0.1", **call)  # type: ignore[arg-type]
            return dict(gateway.ledger.served)

    return run(scenario())


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"stream": True},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"path": "completions", "prompt": "hello"},
    ],
)
def test_an_answer_names_its_model_and_system(call: dict[str, object]) -> None:
    with ScriptedModel(SAID) as model:
        assert served(model, **call) == {THAT: 1}


def test_a_stream_without_a_usage_names_them_too() -> None:
    with ScriptedModel(Reply("x", model="other", usage={})) as model:
        found = served(model, stream=True)
    assert found == {ServedBy("policy", "scripted", "other", None): 1}


def test_the_responses_api_is_read_as_well() -> None:
    answer = {"object": "response", "model": "other", "output": [], "usage": {"input_tokens": 1}}
    with ScriptedModel(Reply(raw=json.dumps(answer).encode())) as model:
        found = served(model, path="responses", input="hello")
    assert found == {ServedBy("policy", "scripted", "other", None): 1}


def test_judges_are_distinguished_and_invalid_names_ignored() -> None:
    odd = {"model": 7, "system_fingerprint": ["x"], "choices": [{"message": {}}], "usage": {}}
    with ScriptedModel(Reply(raw=json.dumps(odd).encode())) as model:
        found = served(model, headers={"X-Prime-Role": "judge"})
    assert found == {ServedBy("judge", "scripted", None, None): 1}


def test_an_endpoint_that_names_another_model_each_time_does_not_fill_the_memory() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with Gateway(Endpoint("scripted", model.url), environ={}) as gateway:
            for _ in range(80):
                await ask(gateway, rollout="0.0.1")
            assert len(gateway.ledger.served) == 65
            assert gateway.ledger.served[ServedBy("policy", "scripted", "others", None)] == 16

    with ScriptedModel(lambda _: Reply("x", model=f"m{len(model.calls)}")) as model:
        run(scenario(model))
