"""The rollout service over a socket, with a real worker, as a trainer sees it."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from prime_cli.core.errors import PartialResult
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.prices import Budget
from prime_cli.runs.folder import RunFolder, read_journal
from prime_cli.runs.manifest import CAPPED, FINISHED, RUNNING, load_manifest
from prime_cli.runs.summary import Counts
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.policies import Policies
from prime_cli.training.service import RolloutService
from prime_cli.training.trainer_events import CHECKPOINTS, METRICS, TRAINER_LOG
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.gateway_client import run
from tests.helpers.rollout_service import JSON, Trainer, serve
from tests.helpers.scripted_model import Received, Reply, ScriptedModel
from tests.helpers.vllm import Vllm


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


@pytest.fixture
def vllm() -> Vllm:
    return Vllm()


@pytest.fixture
def model(vllm: Vllm) -> Iterator[ScriptedModel]:
    with ScriptedModel(vllm) as scripted:
        yield scripted


def test_a_trainer_gets_each_rollout_with_the_tokens_of_its_policy(
    echo: Interpreter, model: ScriptedModel, vllm: Vllm, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        status, environment = trainer.ask("GET", "/environment")
        assert (status, environment["examples"], environment["unit"]) == (200, 10, "rollout")
        trainer.set_policy(model.url, version=3, sampling={"top_p": 0.5})
        first = trainer.rollouts(example=4, n=3, messages=True, tag={"step": 12})
        assert sorted(line["rollout"] for line in first) == [0, 1, 2]
        for line in first:
            (segment,), (sampled,) = line["segments"], vllm.of(4, line["rollout"])
            assert segment["ids"] == sampled.prompt + sampled.ids
            assert segment["logprobs"] == [0.0] * len(sampled.prompt) + sampled.logprobs
            assert segment["spans"] == [[len(sampled.prompt), len(segment["ids"]), 3, "stop"]]
            assert (line["reward"], line["messages"][-1]["content"]) == (1.0, "say 4")
        assert trainer.ask("PUT", "/policy", {"version": 4}) == (200, {})
        (again,) = trainer.rollouts(example=4)
        assert (again["rollout"], again["messages"]) == (3, None)
        assert again["segments"][0]["spans"][0][2] == 4
        rows = list(read_journal(trainer.folder.journal))
        assert [(row.example_id, row.rollout) for row in rows][-1] == (4, 3)
        assert rows[0].state == {"step": 12}

    assert serve(echo, tmp_path, scenario).ended == signal.SIGTERM
    assert {call.body["model"] for call in model.calls} == {"weights"}
    assert {call.body["top_p"] for call in model.calls} == {0.5}


def test_what_a_trainer_tells_is_kept_in_the_folder_of_the_session(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    folders: list[Path] = []

    def scenario(trainer: Trainer) -> None:
        folders.append(trainer.folder.path)
        trainer.rollouts(example=0, n=2, tag={"step": 7})
        step = {"step": 7, "metrics": {"loss": 0.5, "seconds": {"train": 1.5}, "beta": 2}}
        checkpoint = {"step": 7, "path": "/weights/7"}
        assert trainer.ask("POST", "/steps", step) == (200, {"stop": False, "finished": False})
        assert trainer.ask("POST", "/checkpoints", checkpoint) == (200, {})
        assert trainer.ask("POST", "/log", {"text": "warm\nup"}) == (200, {})

    served = serve(echo, tmp_path, scenario, url=model.url)
    (folder,) = folders
    line = json.loads((folder / METRICS).read_bytes())
    assert (line["step"], line["rollouts"], line["reward"], line["loss"]) == (7, 2, 1.0, 0.5)
    assert (line["seconds"], line["extra"]) == ({"train": 1.5}, {"beta": 2})
    assert json.loads((folder / CHECKPOINTS).read_bytes()) == {"step": 7, "path": "/weights/7"}
    assert (folder / TRAINER_LOG).read_text() == "warm\nup\n"
    said = served.progress.said
    assert {"Trainer: warm", "The weights after step 7 are in /weights/7"} <= set(said)


def test_a_session_has_the_manifest_of_a_run_from_its_start_to_its_end(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    folders: list[RunFolder] = []

    def scenario(trainer: Trainer) -> None:
        folders.append(trainer.folder)
        assert load_manifest(trainer.folder.manifest).status == RUNNING
        trainer.rollouts(example=0, n=3)

    serve(echo, tmp_path, scenario, url=model.url)
    manifest = load_manifest(folders[0].manifest)
    assert (manifest.status, manifest.examples, manifest.planned) == (FINISHED, 10, 3)
    assert manifest.counts == Counts(planned=3, scored=3, errored=0, truncated=0)
    assert manifest.usage["calls"] == 3
    assert not folders[0].results.exists()


def test_calls_wait_until_there_is_a_policy(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        found: list[JSON] = []
        asking = threading.Thread(target=lambda: found.extend(trainer.rollouts(example=0)))
        asking.start()
        asking.join(0.5)
        assert not found
        assert asking.is_alive()
        trainer.set_policy(model.url)
        asking.join(30)
        assert [line["reward"] for line in found] == [1.0]

    serve(echo, tmp_path, scenario)


def test_a_policy_that_is_named_at_the_start_needs_no_trainer_to_name_it(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        (line,) = trainer.rollouts(example=0)
        assert len(line["segments"]) == 1

    serve(echo, tmp_path, scenario, url=model.url, sampling={"temperature": 0.5})
    assert [call.body["temperature"] for call in model.calls] == [0.5]


def test_a_policy_of_an_ask_is_for_its_rollouts_alone_and_may_be_left_unrecorded(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        with ScriptedModel() as other:
            policy = {"url": other.url, "model": "theirs", "version": 0}
            (line,) = trainer.rollouts(example=0, policy=policy, record=False)
            assert (line["reward"], line["segments"]) == (1.0, [])
            assert [call.body["model"] for call in other.calls] == ["theirs"]
            assert "return_token_ids" not in other.calls[0].body
        (line,) = trainer.rollouts(example=0)
        assert len(line["segments"]) == 1

    said = serve(echo, tmp_path, scenario, url=model.url).progress
    assert not said.warned


def test_closing_a_connection_gives_up_its_rollouts(
    echo: Interpreter, model: ScriptedModel, vllm: Vllm, tmp_path: Path
) -> None:
    def hang_first(request: Received) -> Reply:
        return Reply(hang=True) if request.last_user == "say 0" else vllm(request)

    model.answer = hang_first

    def scenario(trainer: Trainer) -> None:
        with closing(trainer.connect()) as connection:
            trainer.send(connection, "POST", "/rollouts", {"example": 0, "n": 1})
            while not model.calls:
                time.sleep(0.01)
        # One rollout at a time: the next one needs the lane of the first.
        (line,) = trainer.rollouts(example=1)
        assert line["reward"] == 1.0

    serve(echo, tmp_path, scenario, url=model.url, concurrency=1)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "why"),
    [
        ("POST", "/rollouts", {"example": 0, "shininess": 1}, 400, "unknown field `shininess`"),
        ("POST", "/rollouts", {"example": 10}, 400, "no example 10"),
        ("POST", "/rollouts", {"example": 0, "n": 0}, 400, ">= 1"),
        ("POST", "/rollouts", {"example": 0, "record": False}, 400, "no policy yet"),
        ("PUT", "/policy", {"version": 1}, 400, "needs a `url`"),
        ("PUT", "/policy", {"version": 1, "url": "ftp://x", "model": "m"}, 400, "http or https"),
        ("PUT", "/policy", {"version": 1, "model": "m"}, 400, "need its `url`"),
        ("POST", "/checkpoints", {"step": 1, "path": ""}, 400, "length >= 1"),
        ("POST", "/log", {"text": "x" * 65_537}, 400, "length <= 65536"),
        ("GET", "/nothing", None, 404, "Not Found"),
        ("GET", "/rollouts", None, 405, "Method Not Allowed"),
    ],
)
def test_what_is_not_a_valid_request_is_refused_with_a_sentence(
    shared: Trainer, method: str, path: str, body: JSON | None, status: int, why: str
) -> None:
    code, refusal = shared.ask(method, path, body)
    assert code == status
    assert why in refusal["error"]


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Basic abc", "Bearer ü"])
def test_nobody_gets_in_without_the_token(shared: Trainer, given: str) -> None:
    header = {"Authorization": given.encode().decode("latin-1")}
    assert shared.ask("GET", "/environment", **header)[0] == 401


@pytest.fixture(scope="module")
def shared(echo: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """A service for tests that change nothing of it."""
    ready, over = threading.Event(), threading.Event()
    found: list[Trainer] = []

    def scenario(trainer: Trainer) -> None:
        found.append(trainer)
        ready.set()
        over.wait(300)

    folder = tmp_path_factory.mktemp("shared")
    thread = threading.Thread(target=lambda: serve(echo, folder, scenario))
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0]
    finally:
        over.set()
        thread.join(60)


DIES_ONCE = ECHO.replace(
    "    def same(completion, answer, **kwargs):\n",
    """    def same(completion, answer, **kwargs):
        import os, pathlib
        died = pathlib.Path(__file__ + ".died")
        if answer == "say 3" and not died.exists():
            died.touch()
            os.kill(os.getpid(), 9)
""",
)


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(
    model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        lines = trainer.rollouts(example=3, n=4)
        assert sorted(line["rollout"] for line in lines) == [0, 1, 2, 3]
        assert {line["reward"] for line in lines} == {1.0}
        assert {len(line["segments"]) for line in lines} == {1}
        assert max(line["attempt"] for line in lines) == 2

    interpreter = small_interpreter(tmp_path, DIES_ONCE)
    served = serve(interpreter, tmp_path, scenario, url=model.url)
    assert served.ended == signal.SIGTERM
    assert any("restarting it" in warned for warned in served.progress.warned)


def test_what_an_environment_warns_of_is_said_once_and_kept(
    model: ScriptedModel, tmp_path: Path
) -> None:
    folders: list[RunFolder] = []

    def scenario(trainer: Trainer) -> None:
        folders.append(trainer.folder)
        trainer.rollouts(example=0, n=3)

    line = "def load_environment("
    warns = ECHO.replace(line, f"print('rows.json not found')\n\n\n{line}")
    served = serve(small_interpreter(tmp_path, warns), tmp_path, scenario, url=model.url)
    assert served.progress.said.count("The environment warns: rows.json not found") == 1
    assert load_manifest(folders[0].manifest).warned == ("rows.json not found",)


def test_a_policy_without_token_ids_fails_its_rollouts_and_says_what_to_serve(
    echo: Interpreter, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        for line in trainer.rollouts(example=0, n=2):
            assert (line["reward"], line["segments"]) == (None, [])
            assert (
                "serve the model with `prime serve MODEL --for training`"
                in line["error"]["message"]
            )

    with ScriptedModel() as model:
        served = serve(echo, tmp_path, scenario, url=model.url)
    assert len([said for said in served.progress.warned if "no token ids" in said]) == 1


def test_a_cap_ends_the_service_and_those_who_wait_are_told(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        *_, last = trainer.rollouts(example=0, n=20)
        assert "ended" in last["error"]

    budget = Budget(None, 20)
    served = serve(echo, tmp_path, scenario, url=model.url, budget=budget, concurrency=1)
    assert isinstance(served.ended, PartialResult)
    assert "token budget" in served.ended.message
    (manifest,) = tmp_path.glob("*/run.json")
    assert load_manifest(manifest).status == CAPPED


def test_a_cap_in_dollars_does_not_end_the_service_for_the_trainers_own_weights(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        trainer.set_policy(model.url)
        (line,) = trainer.rollouts(example=0)
        assert line["reward"] == 1.0

    assert serve(echo, tmp_path, scenario, budget=Budget(5.0)).ended == signal.SIGTERM


def test_a_model_without_a_price_ends_the_service_with_a_hint_about_prices(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        trainer.rollouts(example=0)

    served = serve(echo, tmp_path, scenario, url=model.url, budget=Budget(5.0))
    assert isinstance(served.ended, PartialResult)
    assert "has no known price" in served.ended.message
    assert "prices.toml" in (served.ended.hint or "")


def test_the_workers_share_the_rollouts_that_may_run_at_once(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    model.answer = lambda _: Reply(hang=True)

    def scenario(trainer: Trainer) -> None:
        with closing(trainer.connect()) as connection:
            trainer.send(connection, "POST", "/rollouts", {"example": 0, "n": 4})
            while not model.calls:
                time.sleep(0.01)
            time.sleep(0.3)  # for calls that must not come
        assert len(model.calls) == 1

    serve(echo, tmp_path, scenario, url=model.url, workers=2, concurrency=2)


def test_a_trainers_length_replaces_that_of_the_command_line_by_either_name(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    def scenario(trainer: Trainer) -> None:
        trainer.set_policy(model.url, sampling={"max_completion_tokens": 64})
        (line,) = trainer.rollouts(example=0)
        assert line["reward"] == 1.0

    serve(echo, tmp_path, scenario, sampling={"max_tokens": 16})
    assert [call.body["max_tokens"] for call in model.calls] == [64]


def test_the_endpoint_of_a_policy_that_is_named_again_stays_the_same() -> None:
    policies = Policies()
    named: list[Endpoint | None] = []

    async def put(service: RolloutService, url: str) -> None:
        header = {"Authorization": f"Bearer {service.token}"}
        update = {"url": url, "model": "weights", "version": len(named)}
        async with (
            aiohttp.ClientSession(headers=header) as session,
            session.put(f"{service.url}/policy", json=update) as response,
        ):
            assert response.status == 200
        assert policies.current is not None
        named.append(policies.current.endpoint)

    async def scenario() -> None:
        unused: Any = None
        async with RolloutService(unused, policies, unused, unused) as service:
            for url in ("http://127.0.0.1:9/v1", "http://127.0.0.1:8/v1", "http://127.0.0.1:9/v1/"):
                await put(service, url)

    run(scenario())
    first, other, again = named
    assert again is first is not other
