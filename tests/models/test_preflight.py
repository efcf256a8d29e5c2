"""A model server that is not there is noticed before anything is made ready for it."""

import asyncio
from collections.abc import Iterator

import pytest

from prime_cli.core.errors import NotAllowed, NotLoggedIn, PrimeError, Unreachable
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.connections import proxy_for
from prime_cli.models.preflight import check_endpoint
from prime_cli.models.providers import EndpointSecret
from tests.helpers.gateway_client import run
from tests.helpers.raw_server import Answer, always, raw_server
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.socks import SocksProxy


def check(answer: Answer, *, seconds: float = 5) -> list[str]:
    async def scenario() -> list[str]:
        async with raw_server(answer) as url:
            endpoint = Endpoint("m", url, EndpointSecret("k"))
            return (await check_endpoint(endpoint, seconds=seconds)).warnings

    return run(scenario())


def test_a_server_that_lists_the_model_is_fine() -> None:
    with ScriptedModel(models=("m",)) as model:
        assert run(check_endpoint(Endpoint("m", model.url, EndpointSecret("k")))).warnings == []
        assert model.requests[0].headers["authorization"] == "Bearer k"


def test_a_model_that_is_not_listed_is_warned_about() -> None:
    with ScriptedModel(models=("Qwen/Qwen3-0.6B",)) as model:
        (warning,) = run(check_endpoint(Endpoint("Qwen3-0.6B", model.url))).warnings
    assert "did you mean `Qwen/Qwen3-0.6B`" in warning


def test_nothing_listening_is_unreachable() -> None:
    async def scenario() -> None:
        async with raw_server(always(200)) as url:
            pass
        await check_endpoint(Endpoint("m", url))

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        run(scenario())


@pytest.mark.parametrize(("status", "error"), [(401, NotLoggedIn), (403, NotAllowed)])
def test_a_refused_key_is_reported(status: int, error: type[PrimeError]) -> None:
    with pytest.raises(error):
        check(always(status))


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"data": 5}', b'{"data": []}'])
def test_odd_answers_stop_nothing(body: bytes) -> None:
    assert check(always(200, body)) == []
    assert check(always(404, body)) == []


def test_a_silent_server_is_warned_about() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    (warning,) = check(silent, seconds=0.2)
    assert "did not list its models in time" in warning


def test_built_in_models_are_always_there() -> None:
    assert run(check_endpoint(Endpoint("builtin/echo", builtin=True))).warnings == []


def test_a_price_that_the_endpoint_states_is_read() -> None:
    body = b'{"data": [{"id": "m", "pricing": {"prompt": "0.0000004", "completion": "0.0000016"}}]}'

    async def scenario() -> None:
        async with raw_server(always(200, body)) as url:
            found = await check_endpoint(Endpoint("m", url))
            price = found.prices[url, "m"]
            assert (price.input, price.output, price.cached) == (0.4, 1.6, None)
            assert price.source.startswith("stated by 127.0.0.1")

    run(scenario())


def test_anthropic_models_are_listed_by_its_own_api(proxied: ScriptedModel) -> None:
    endpoint = Endpoint("claude-x", "http://api.anthropic.com/v1", EndpointSecret("k"))
    run(check_endpoint(endpoint))
    (request,) = proxied.requests
    assert request.headers["x-api-key"] == "k"
    assert "anthropic-version" in request.headers
    assert "authorization" not in request.headers


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    """A server that answers for every host, as the proxy of plain HTTP."""
    with ScriptedModel() as model:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{model.port}")
        monkeypatch.delenv("http_proxy", raising=False)
        proxy_for.cache_clear()
        yield model
    proxy_for.cache_clear()


def test_a_dead_proxy_is_named_with_the_variable_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:secret@127.0.0.1:1")
    monkeypatch.delenv("https_proxy", raising=False)
    proxy_for.cache_clear()
    with pytest.raises(Unreachable, match=r"The proxy http://127\.0\.0\.1:1 cannot") as caught:
        run(check_endpoint(Endpoint("m", "https://model.example/v1", chosen_by="`-b`")))
    proxy_for.cache_clear()
    assert "HTTPS_PROXY" in str(caught.value.hint)
    assert "secret" not in caught.value.message + str(caught.value.hint)


@pytest.mark.parametrize(
    ("chosen_by", "hint"),
    [
        ("`-b`", "correct the URL given by `-b`"),
        ("OPENAI_BASE_URL", "correct the URL given by OPENAI_BASE_URL"),
        ("", "check the network, or use a server of yours with `-b URL`"),
    ],
)
def test_the_hint_speaks_of_what_the_user_gave(chosen_by: str, hint: str) -> None:
    with pytest.raises(Unreachable) as caught:
        run(check_endpoint(Endpoint("m", "http://127.0.0.1:1/v1", chosen_by=chosen_by)))
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("listed", ["m-20250929", "m-2024-08-06", "m-0613", "models/m"])
def test_an_alias_of_a_listed_model_has_no_warning(listed: str) -> None:
    with ScriptedModel(models=(listed,)) as model:
        assert run(check_endpoint(Endpoint("m", model.url))).warnings == []


def test_a_smaller_model_is_no_version_of_the_one_asked_for() -> None:
    with ScriptedModel(models=("gpt-4o-mini",)) as model:
        (warning,) = run(check_endpoint(Endpoint("gpt-4o", model.url))).warnings
    assert "`gpt-4o` is not among the models" in warning


def test_a_model_is_reached_through_a_socks_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(models=("m",)) as model, SocksProxy(model.port) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        monkeypatch.delenv("http_proxy", raising=False)
        proxy_for.cache_clear()
        assert run(check_endpoint(Endpoint("m", "http://model.example/v1"))).warnings == []
        assert run(check_endpoint(Endpoint("m", model.url))).warnings == []
    proxy_for.cache_clear()
    assert proxy.asked == ["model.example:80"]


def test_a_dead_socks_proxy_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://ada:secret@127.0.0.1:1")
    proxy_for.cache_clear()
    with pytest.raises(Unreachable, match=r"The proxy socks5://127\.0\.0\.1:1 cannot") as caught:
        run(check_endpoint(Endpoint("m", "http://model.example/v1", chosen_by="`-b`")))
    proxy_for.cache_clear()
    assert "correct ALL_PROXY" in str(caught.value.hint)
