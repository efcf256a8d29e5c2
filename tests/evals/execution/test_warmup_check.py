"""When the first rollouts of a run say that the others have no chance."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import EnvironmentFailed, NotLoggedIn, PartialResult, Unreachable
from prime_cli.evals.execution.early_stop import WarmupCheck, warmup_failure
from prime_cli.runs.folder import RunFolder, read_journal
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

BROKEN = Failure("environment", "KeyError", "'k'")


def row(example: int, error: Failure | None) -> Row:
    return Row(example_id=example, rollout=0, reward=None if error else 1.0, error=error)


def told(*errors: Failure | None) -> Failure | None:
    """What a wave says of rollouts that end in this order."""
    wave = WarmupCheck([(n, 0) for n in range(len(errors))])
    *earlier, last = (wave.take(row(n, error)) for n, error in enumerate(errors))
    assert earlier == [None] * len(earlier)
    return last


def infra(message: str) -> Failure:
    return Failure("infra", "InternalServerError", message)


def refused(message: str) -> Failure:
    return Failure("model", "BadRequestError", message)


def test_all_alike_is_the_cause() -> None:
    assert told(BROKEN, BROKEN, BROKEN) == BROKEN


@pytest.mark.parametrize(
    "messages",
    [
        ("503 for req_011CQzyA in 1.2 s", "503 for req_9b7EfgTz in 0.7 s"),
        ("<Chat object at 0x7f2e1c0>", "<Chat object at 0x55d01f8>"),
        ("example 12 is broken", "example 7 is broken"),
    ],
)
def test_ids_times_and_counts_do_not_make_a_failure_another_one(messages: tuple[str, str]) -> None:
    assert told(*map(infra, messages)) == infra(messages[0])


@pytest.mark.parametrize(
    "errors",
    [
        (BROKEN, None, BROKEN),
        (None, BROKEN, BROKEN),
        (BROKEN, Failure("environment", "ValueError", "'k'")),
        (BROKEN, Failure("environment", "KeyError", "'question'")),
        (BROKEN, Failure("infra", "KeyError", "'k'")),
    ],
)
def test_one_score_or_another_failure_is_hope(errors: tuple[Failure | None, ...]) -> None:
    assert told(*errors) is None


def test_what_was_not_among_the_first_to_begin_says_nothing() -> None:
    wave = WarmupCheck([(0, 0), (1, 0)])
    assert [wave.take(row(n, BROKEN)) for n in (0, 5, 6, 7)] == [None] * 4
    assert wave.take(row(1, None)) is None
    assert wave.take(row(1, BROKEN)) is None


@pytest.mark.parametrize(
    "failure",
    [
        Failure("model", "EmptyModelResponseError", "no text"),
        refused("400: The response was filtered by the content management policy"),
        refused("400: Your input was flagged"),
    ],
)
def test_what_models_say_and_may_not_be_asked_is_a_result(failure: Failure) -> None:
    assert told(failure, failure, failure) is None


def test_a_request_that_no_endpoint_understands_is_a_cause() -> None:
    failure = refused("400: Unsupported parameter: 'max_tokens'")
    assert told(failure, failure, failure) == failure


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure("infra", "AuthenticationError", "401"), NotLoggedIn),
        (Failure("infra", "NotFoundError", "404"), Unreachable),
        (Failure("infra", "SandboxError", "no docker"), EnvironmentFailed),
        (BROKEN, EnvironmentFailed),
        (refused("400"), PartialResult),
    ],
)
def test_the_exit_code_says_whose_fault_it_is(failure: Failure, kind: type) -> None:
    error = warmup_failure(failure, 32, "1f2e3d4c", Scrubber({}))
    assert type(error) is kind
    assert error.message.startswith("The first 32 rollouts all ended in the same error: ")
    assert "prime eval show 1f2e3d4c --errors" in (error.hint or "")
    assert "--no-fail-fast" in (error.hint or "")
    within = warmup_failure(failure, 32, "some/folder", Scrubber({}), has_flag=False)
    assert within.hint == "see one with `prime eval show some/folder --errors`"


def test_the_end_of_the_traceback_is_shown_and_no_secret_is_reported() -> None:
    failure = Failure("environment", "KeyError", "'sk-secret-1'\nmore", traceback="at sk-secret-1")
    error = warmup_failure(failure, 3, "1f2e3d4c", Scrubber({"KEY": "sk-secret-1"}))
    assert error.message.endswith("KeyError: '[KEY]'")
    assert error.detail == "at [KEY]"


def test_data_that_cannot_be_downloaded_comes_with_what_to_do_offline() -> None:
    message = "Couldn't reach 'openai/gsm8k' on the Hub (huggingface.co cannot be reached)"
    failure = Failure("environment", "ConnectionError", message)
    error = warmup_failure(failure, 3, "1f2e3d4c", Scrubber({}))
    assert (error.hint or "").startswith("run it once where huggingface.co can be reached")


def test_a_long_failure_is_cut() -> None:
    failure = Failure("environment", "ValueError", "x" * 2000)
    assert len(warmup_failure(failure, 3, "1f2e3d4c", Scrubber({})).message) < 400


RAISING = ECHO.replace("        return float", "        info = {}['k']\n        return float")
HALF = ECHO.replace(
    "        return float",
    "        if int(answer.split()[1]) % 2: raise ValueError('odd')\n        return float",
)
GROUPED = ECHO.replace(
    "def same(completion, answer, **kwargs):\n        return float",
    "def same(completions, answers, **kwargs):\n        info = {}['k']\n        return float",
)

pytestmark = pytest.mark.network  # the shared venv may have to be made


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("raising"), RAISING)


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


MANY: dict[str, Any] = {"num_examples": 500, "rollouts_per_example": 1, "env_args": {"size": 500}}


def only_run(folder: Path) -> RunFolder:
    (item,) = list_runs(folder)
    return RunFolder(Path(item.path))


def test_a_wrong_key_costs_one_wave_of_calls_and_ends_the_run(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    model.answer, model.latency = status(401), 0.1
    with pytest.raises(NotLoggedIn, match="rejected the key for `scripted`"):
        run_live(tmp_path, echo, model.url, concurrency=32, **MANY)
    assert 1 <= len(model.calls) <= 32
    manifest = load_manifest(only_run(tmp_path).manifest)
    assert (manifest.status, manifest.planned) == ("failed", 500)
    assert "rejected the key" in (manifest.failure or "")

    model.answer = lambda request: Reply(request.last_user, model="scripted-2026")
    resumed = run_live(
        tmp_path, echo, model.url, resumed=only_run(tmp_path), concurrency=32, **MANY
    )
    assert (resumed.summary.status, resumed.summary.counts.scored) == ("finished", 500)
    (served,) = load_manifest(only_run(tmp_path).manifest).served
    assert (served.requested, served.model, served.calls) == ("scripted", "scripted-2026", 500)
    assert resumed.summary.served == (served,)


def test_a_sandbox_that_cannot_be_had_ends_the_run_at_the_first_rollout(
    model: ScriptedModel, tmp_path: Path
) -> None:
    source = ECHO.replace(
        "    def same(",
        "    class SandboxImagePullError(Exception): ...\n"
        "    class Lacking(vf.SingleTurnEnv):\n"
        "        async def rollout(self, input, client, model, sampling_args):\n"
        "            raise SandboxImagePullError('no image `words:1`')\n"
        "    def same(",
    ).replace("return vf.SingleTurnEnv", "return Lacking")
    interpreter = small_interpreter(tmp_path, source)
    with pytest.raises(EnvironmentFailed, match="The sandbox that example 0 needs cannot be had"):
        run_live(tmp_path, interpreter, model.url, num_examples=2, concurrency=1)
    assert model.calls == []
    assert load_manifest(only_run(tmp_path).manifest).status == "failed"


def test_a_reward_that_always_raises_ends_the_run_after_its_first_wave(
    raising: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    with pytest.raises(EnvironmentFailed, match=r"The first 4 rollouts .* KeyError|'k'"):
        run_live(tmp_path, raising, model.url, concurrency=4, **MANY)
    folder = only_run(tmp_path)
    assert load_manifest(folder.manifest).status == "failed"
    assert 4 <= len(list(read_journal(folder.journal))) < 40
    assert folder.results.is_file()


def test_a_group_that_fails_is_one_failure(model: ScriptedModel, tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, GROUPED)
    plan: dict[str, Any] = {"num_examples": 6, "rollouts_per_example": 4, "concurrency": 4}
    with pytest.raises(EnvironmentFailed, match="The first 12 rollouts"):
        run_live(tmp_path, interpreter, model.url, **plan)


@pytest.mark.parametrize(
    "plan",
    [
        {"fail_fast": False},
        pytest.param({"max_error_rate": 1.0}, marks=pytest.mark.slow),
        pytest.param({"num_examples": 4}, marks=pytest.mark.slow),
    ],
)
def test_a_run_is_resumed_on_request_or_if_nothing_is_left(
    raising: Interpreter, model: ScriptedModel, tmp_path: Path, plan: dict[str, Any]
) -> None:
    size: dict[str, Any] = {"num_examples": 12, "rollouts_per_example": 1, "env_args": {"size": 12}}
    result = run_live(tmp_path, raising, model.url, **{"concurrency": 4, **size, **plan})
    assert result.summary.status == "finished"
    assert result.summary.counts.errored == result.summary.counts.planned


def test_examples_that_fail_at_once_do_not_outrun_those_that_take_their_time(
    model: ScriptedModel, tmp_path: Path
) -> None:
    def slow_when_even(request: Received) -> Reply:
        number = int(request.last_user.split()[1])
        return Reply(request.last_user, latency=0.0 if number % 2 else 0.5)

    interpreter = small_interpreter(tmp_path, HALF)
    model.answer = slow_when_even
    size: dict[str, Any] = {"num_examples": 24, "rollouts_per_example": 1, "env_args": {"size": 24}}
    result = run_live(tmp_path, interpreter, model.url, concurrency=4, **size)
    assert (result.summary.counts.scored, result.summary.counts.errored) == (12, 12)
