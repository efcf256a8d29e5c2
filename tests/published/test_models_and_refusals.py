"""What our hub answers at the published addresses of models, and of what it does not do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from prime_cli.hub.context import Caller
from prime_cli.hub.services.key_management import issue_key
from prime_cli.hub.services.users import create_user
from tests.helpers.scripted_model import Reply, ScriptedModel
from tests.hub.response_cache.serving import served_app
from tests.published.held import Held
from tests.published.notation import INFERENCE, NOT_HERE, Address, published

CHAT = {"model": "small", "messages": [{"role": "user", "content": "hello"}]}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def client(tmp_path: Path, model: ScriptedModel) -> Iterator[TestClient]:
    """Ada's, of a hub with one model."""
    registry = tmp_path / "endpoints.toml"
    registry.write_text(
        f'[[endpoint]]\nendpoint_id = "small"\nmodel = "vendor/small-1"\nurl = "{model.url}"\n'
        "price = { input = 2.0, output = 10.0 }\n"
    )
    app = served_app(tmp_path / "hub", endpoints=registry)
    hub, operator = app.state.hub, Caller.operator()
    create_user(hub, operator, "ada")
    key = issue_key(hub, operator, "ada").key
    with TestClient(app, headers={"authorization": f"Bearer {key}"}) as client:
        yield client


def test_models_and_calls_to_them_answer_as_published(
    client: TestClient, model: ScriptedModel
) -> None:
    held = Held(client, INFERENCE)
    model.queue(Reply("hi", usage=USAGE))
    assert [each["id"] for each in held.ask("GET", "/models")["data"]] == ["small"]
    answer = held.ask("POST", "/chat/completions", CHAT)
    assert answer["choices"][0]["message"]["content"] == "hi"
    assert held.seen == {f"{each.method} {each.path}" for each in published(INFERENCE).addresses}


@pytest.mark.parametrize(
    "address", published(NOT_HERE).addresses, ids=lambda each: f"{each.method} {each.path}"
)
def test_what_this_hub_does_not_do_is_refused_as_published(
    client: TestClient, address: Address
) -> None:
    path = address.path.format(evaluation_id="one", run_id="one")
    body: dict[str, str] | None = {} if address.takes is not None else None
    refused = Held(client, NOT_HERE).ask(address.method, path, body, status=501)
    (told,) = refused["errors"]
    assert told["details"] == refused["detail"]
    assert told["details"].startswith("This hub ")
