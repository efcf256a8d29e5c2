"""The part of the adapters that needs no trainer, against a real service and a real worker."""

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.adapters.service import (
    JSON,
    PolicyServer,
    RefusedError,
    RolloutService,
    Sampled,
    row_of,
)
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.rollout_service import Trainer, serve


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


async def _echoes(asked: JSON) -> Sampled:
    text = asked["messages"][-1]["content"]
    prompt, ids = [1, 2, 3], [ord(each) for each in text]
    return Sampled(prompt, ids, [-0.5] * len(ids), {"content": text}, "stop")


async def _fails(asked: JSON) -> Sampled:
    raise ValueError("the trainer has no weights")


def test_a_policy_in_the_trainers_process_answers_the_environment(
    echo: Interpreter, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        service, policies = RolloutService(trainer.url, trainer.token), PolicyServer()
        assert service.examples() == list(range(10))

        async def train() -> list[JSON]:
            with policies.serving(_echoes, version=3) as where:
                return await service.ask(4, 2, policy=where)

        for rollout in asyncio.run(train()):
            (segment,) = rollout["segments"]
            row = row_of(segment)
            assert rollout["reward"] == 1.0
            assert (row.prompt, bytes(row.response)) == ([1, 2, 3], b"say 4")
            assert (row.mask, row.logprobs) == ([1] * 5, [-0.5] * 5)
            assert segment["spans"][0][2] == 3

    serve(echo, tmp_path, scenario)


def test_what_the_trainer_cannot_answer_is_an_error_of_the_rollout(
    echo: Interpreter, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        service, policies = RolloutService(trainer.url, trainer.token), PolicyServer()

        async def train() -> list[JSON]:
            with policies.serving(_fails) as where:
                return await service.ask(0, policy=where)

        (rollout,) = asyncio.run(train())
        assert rollout["reward"] is None
        assert "the trainer has no weights" in rollout["error"]["message"]
        with pytest.raises(RefusedError, match="no example 99"):
            service.rollouts(99)

    serve(echo, tmp_path, scenario)


def test_nobody_else_is_answered() -> None:
    async def scenario() -> None:
        policies = PolicyServer()
        with policies.serving(_echoes) as where:
            url = f"{where['url']}/chat/completions"
            assert await asyncio.to_thread(_status, url, "wrong") == 401
            assert await asyncio.to_thread(_status, url, policies.key) == 200
            other = url.replace("/chat/", "/text/")
            assert await asyncio.to_thread(_status, other, policies.key) == 404
        assert await asyncio.to_thread(_status, url, policies.key) == 404

    asyncio.run(scenario())


def _status(url: str, key: str) -> int:
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(url, body, {"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_row_masks_what_the_environment_said() -> None:
    segment = {
        "ids": [1, 2, 3, 4, 5, 6],
        "logprobs": [0.0, 0.0, -1.0, 0.0, -2.0, -3.0],
        "spans": [[2, 3, 0, "stop"], [4, 6, 0, "stop"]],
    }
    row = row_of(segment)
    assert (row.prompt, row.response) == ([1, 2], [3, 4, 5, 6])
    assert (row.mask, row.logprobs) == ([1, 0, 1, 1], [-1.0, 0.0, -2.0, -3.0])
