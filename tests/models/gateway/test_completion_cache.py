"""Completions are kept between runs, and answered from the disk."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.digests import digest_bytes
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallIdentity, Reply, RequestHead
from prime_cli.models.gateway.completion_cache import (
    SCHEMA,
    CachedCompletion,
    CompletionCache,
    CompletionStore,
)
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.prices import Budget, Price, TokenUsage
from prime_cli.models.providers import EndpointSecret
from tests.helpers import scripted_model
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.scripted_model import BAD_JSON, Received, ScriptedModel, status


def kept(text: str) -> CachedCompletion:
    return CachedCompletion(schema=SCHEMA, model="m", content_type="application/json", body=text)


def store_in(folder: Path, most_bytes: int = 10_000) -> CompletionStore:
    return CompletionStore(folder, lambda content: content, most_bytes=most_bytes)


def key(number: int) -> str:
    return digest_bytes(str(number).encode())


def test_what_was_not_used_for_the_longest_time_is_dropped_first(tmp_path: Path) -> None:
    store = store_in(tmp_path, most_bytes=1_000_000)
    for number in range(10):
        store.put(key(number), kept("x" * 1000))
    for age, path in enumerate(tmp_path.rglob("*.json")):
        os.utime(path, (age, age))
    assert store.get(key(3)) is not None  # used now
    small = store_in(tmp_path, most_bytes=5000)
    small.prune()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.json")) <= 5000
    assert small.get(key(3)) is not None


def test_a_folder_with_room_is_left_unchanged(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put(key(1), kept("hello"))
    store.prune()
    assert store.get(key(1)) == kept("hello")


def test_a_disk_that_cannot_be_written_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = store_in(blocked)
    store.put(key(1), kept("hello"))
    assert store.trouble
    assert store.get(key(1)) is None


@given(text=st.text())
def test_every_answer_comes_back_as_it_was(text: str) -> None:
    with TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        store.put(key(0), kept(text))
        assert store.get(key(0)) == kept(text)


KEY = "sk-the-real-key-of-the-run"
PRICE = Price(1.0, 1.0)
NO_CHOICES = scripted_model.Reply(raw=b'{"choices": []}')

Scenario = Callable[[Gateway], Awaitable[Any]]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    count = iter(range(10_000))

    def answer(request: Received) -> str:
        return f"answer {next(count)} to {request.last_user}"

    with ScriptedModel(answer) as scripted:
        yield scripted


@pytest.fixture
def store(tmp_path: Path) -> CompletionStore:
    found = CompletionStore(tmp_path / "responses", lambda content: content)
    found.open()
    return found


def in_a_run(
    model: ScriptedModel, store: CompletionStore, scenario: Scenario, budget: Budget | None = None
) -> tuple[Any, TokenUsage]:
    """What `scenario` gives in a gateway of its own, and what that run used."""

    async def whole() -> tuple[Any, TokenUsage]:
        settings = GatewaySettings(cache=store, price_of=lambda _: PRICE, budget=budget)
        endpoint = Endpoint("scripted", model.url, EndpointSecret(KEY))
        async with Gateway(endpoint, environ={}, settings=settings) as gate:
            return await scenario(gate), gate.ledger.total()

    return run(whole())


def asking(*texts: str, **told: Any) -> Scenario:
    async def scenario(gate: Gateway) -> list[Answered]:
        return [await ask(gate, text, **({"rollout": "0.0.1"} | told)) for text in texts]

    return scenario


def test_a_later_run_repeats_no_cached_call(model: ScriptedModel, store: CompletionStore) -> None:
    (first,), used = in_a_run(model, store, asking("hello", temperature=1))
    assert (used.calls, used.hits) == (1, 0)
    (again,), used = in_a_run(model, store, asking("hello", temperature=1))
    assert again.json == first.json
    assert used == TokenUsage(hits=1)
    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "other",
    [{"rollout": "0.1.1"}, {"temperature": 0.5}, {"seed": 7}, {"tools": []}, {"stream": True}],
)
def test_everything_that_decides_the_answer_is_in_the_cache_key(
    other: dict[str, Any], model: ScriptedModel, store: CompletionStore
) -> None:
    in_a_run(model, store, asking("hello"))
    _, used = in_a_run(model, store, asking("hello", **other))
    assert (used.calls, used.hits) == (1, 0)


def test_another_endpoint_is_asked_again(model: ScriptedModel, store: CompletionStore) -> None:
    in_a_run(model, store, asking("hello"))
    with ScriptedModel() as other:
        (answered,), _ = in_a_run(other, store, asking("hello"))
    assert answered.said == "hello"


def test_several_samples_of_one_rollout_stay_different(
    model: ScriptedModel, store: CompletionStore
) -> None:
    first, used = in_a_run(model, store, asking("vote", "vote", "vote"))
    assert used.calls == 3
    assert len({each.said for each in first}) == 3
    again, used = in_a_run(model, store, asking("vote", "vote", "vote", "vote"))
    assert [each.said for each in again[:3]] == [each.said for each in first]
    assert (used.calls, used.hits) == (1, 3)


def test_streams_are_kept_as_their_events(model: ScriptedModel, store: CompletionStore) -> None:
    (first,), used = in_a_run(model, store, asking("hello", stream=True))
    assert used.calls == 1
    told: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    (again, with_usage), used = in_a_run(
        model,
        store,
        lambda gate: asyncio.gather(
            ask(gate, stream=True, rollout="0.0.1"), ask(gate, rollout="1.0.1", **told)
        ),
    )
    assert again.events == first.events
    assert with_usage.events[-1]["usage"]["total_tokens"]
    assert used == TokenUsage(hits=2)


@pytest.mark.parametrize(
    "bad", [status(400), BAD_JSON, scripted_model.Reply(raw=b'{"choices": []}')]
)
def test_errors_and_nonsense_are_never_kept(
    bad: scripted_model.Reply, model: ScriptedModel, store: CompletionStore, tmp_path: Path
) -> None:
    model.queue(*[bad] * 20)
    (answered,), _ = in_a_run(model, store, asking("hello"))
    assert answered.status != 200
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    ("sent", "is_kept"),
    [
        ([b'data: {"choices": []}\n\n', b"data: [DONE]\n\n"], True),
        ([b'data: {"cho', b'ices": []}\n\ndata: [DO', b"NE]\n\n"], True),
        ([b'data: {"choices": []}\n\n'], False),
        ([b'data: {"error": {"code": "stream_broken"}}\n\n'], False),
        ([b'data: {"error": {"message": "x"}}\n\n', b"data: [DONE]\n\n"], False),
        ([], False),
    ],
)
def test_only_streams_that_came_to_their_end_are_kept(
    sent: list[bytes], is_kept: bool, store: CompletionStore, tmp_path: Path
) -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        for chunk in sent:
            yield chunk

    async def handler(_: Call) -> Reply:
        headers = {"content-type": "text/event-stream"}
        return Reply(200, headers=headers, chunks=chunks())

    async def read(most: int) -> list[bytes]:
        endpoint = Endpoint("scripted", "http://127.0.0.1:1/v1")
        cache = CompletionCache(store, lambda _: (endpoint,), lambda _, __: None)
        body = b'{"model": "scripted", "stream": true}'
        identity = CallIdentity(0, 0, 1, "policy")
        head = RequestHead("scripted", stream=True)
        call = Call("POST", "chat/completions", "", {}, body, identity, head)
        reply = await cache.answer(call, handler)
        assert reply.chunks is not None
        return [chunk async for chunk in some_of(reply.chunks, most)]

    run(read(1))
    assert not list(tmp_path.rglob("*.json"))  # who hung up did not hear the end
    assert b"".join(run(read(99))) == b"".join(sent)
    assert bool(list(tmp_path.rglob("*.json"))) == is_kept
    assert b"".join(run(read(99))) == b"".join(sent)


async def some_of(chunks: AsyncGenerator[bytes, None], most: int) -> AsyncGenerator[bytes, None]:
    """The first `most` of them; then the stream is closed, as by who hangs up."""
    async with aclosing(chunks):
        for _ in range(most):
            try:
                yield await anext(chunks)
            except StopAsyncIteration:
                return


def test_hits_do_not_count_against_a_budget_and_pass_when_it_is_used_up(
    model: ScriptedModel, store: CompletionStore
) -> None:
    in_a_run(model, store, asking("hello", "there"))
    budget = Budget(token_budget=1)
    budget.stop("used up")
    answers, used = in_a_run(model, store, asking("hello", "there"), budget)
    assert [each.status for each in answers] == [200, 200]
    assert used == TokenUsage(hits=2)


def test_judges_are_answered_from_the_cache_as_well(
    model: ScriptedModel, store: CompletionStore
) -> None:
    for _ in range(2):
        _, used = in_a_run(model, store, asking("grade", rollout="3.1.1.judge"))
    assert used == TokenUsage(hits=1)


def test_an_answer_with_a_secret_is_not_kept(model: ScriptedModel, tmp_path: Path) -> None:
    careful = CompletionStore(tmp_path / "r", lambda content: content.replace(b"hunter2", b"[KEY]"))
    in_a_run(model, careful, asking("my password is hunter2", "hello"))
    (kept,) = tmp_path.rglob("*.json")
    assert b"hunter2" not in kept.read_bytes()


def test_files_are_for_their_owner_and_hold_no_key(
    model: ScriptedModel, store: CompletionStore, tmp_path: Path
) -> None:
    in_a_run(model, store, asking("hello"))
    (kept,) = tmp_path.rglob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert KEY.encode() not in kept.read_bytes()


def test_a_torn_file_is_requested_again(
    model: ScriptedModel, store: CompletionStore, tmp_path: Path
) -> None:
    in_a_run(model, store, asking("hello"))
    (kept,) = tmp_path.rglob("*.json")
    kept.write_bytes(kept.read_bytes()[:-9])
    _, used = in_a_run(model, store, asking("hello"))
    assert used.calls == 1
    _, used = in_a_run(model, store, asking("hello"))
    assert used == TokenUsage(hits=1)


def test_built_in_models_and_other_paths_are_left_alone(
    model: ScriptedModel, store: CompletionStore, tmp_path: Path
) -> None:
    in_a_run(model, store, asking("hello", model="builtin/echo"))
    in_a_run(model, store, asking("hello", path="models", method="GET"))
    assert not list(tmp_path.rglob("*.json"))
