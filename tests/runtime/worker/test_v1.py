"""Real v1 tasksets: without processes of their own where nothing needs them, else as upstream."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.models.gateway.calls import read_identity
from prime_cli.runtime.protocol import Overlap
from prime_cli.runtime.worker.overlap import print_of
from tests.helpers.scripted_model import ScriptedModel, status
from tests.helpers.unix_sockets import unix_socket_of
from tests.helpers.venvs import venv_python
from tests.runtime.worker.runs import Said, run_worker, spec_for

TODAY = pytest.param("0.4.0", marks=pytest.mark.network)
RELEASES = [TODAY, pytest.param("0.3.1", marks=pytest.mark.slow)]


def run(version: str, model: ScriptedModel, module: str, log: Path, **fields: object) -> Said:
    python = venv_python(f"verifiers=={version}")
    return run_worker(spec_for(model, module, generation="v1", **fields), log, python)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_a_taskset_without_tools_runs_in_one_process(
    version: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "echo_tasks", log, n=3, r=2, sampling={"max_tokens": 9})
    assert (said.started.harness, said.started.unit) == ("null, in-process", "episode")
    assert said.started.oracle
    assert said.started.answers == {"0": "word0", "1": "word1", "2": "word2"}
    assert said.rewards == {(e, r): 2.0 for e in range(3) for r in range(2)}
    row = said.row(1, 1)
    assert row.metrics == {"correct": 1.0, "length": 9.0}
    assert row.prompt == [{"role": "user", "content": "say word1"}]
    assert row.completion == [{"role": "assistant", "content": "say word1"}]
    assert row.usage is not None
    assert (row.usage.input, row.usage.output) == (2, 2)
    assert "a v1 environment prints" in log.read_text(encoding="utf-8")
    for call in model.calls:
        assert call.last_user == f"say word{call.headers['x-prime-example']}"
        assert call.headers["x-prime-role"] == "policy"
        assert call.headers["authorization"] == "Bearer run-token"
        assert call.body["max_tokens"] == 9


@pytest.mark.slow
def test_many_episodes_at_once_all_reach_the_model(model: ScriptedModel, log: Path) -> None:
    """Above 32 of them, verifiers spreads its interception over several servers."""
    spec = {"n": 200, "concurrency": 128, "args": {"count": 200}}
    said = run("0.4.0", model, "echo_tasks", log, **spec)
    assert set(said.rewards.values()) == {2.0}
    assert len(model.calls) == 200


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_errors_are_rows_sorted_by_fault(version: str, model: ScriptedModel, log: Path) -> None:
    model.queue(status(400, message="no such model"))
    spec = {"args": {"trouble": "no reward today"}, "concurrency": 1}
    said = run(version, model, "echo_tasks", log, **spec)
    refused, broken = said.row(0).error, said.row(1).error
    assert refused is not None
    assert broken is not None
    assert (refused.kind, refused.retryable) == ("model", False)
    assert (broken.kind, broken.retryable) == ("environment", False)
    assert "no reward today" in broken.message
    assert said.rewards == {(0, 0): None, (1, 0): None, (2, 0): 2.0}


@pytest.mark.network
def test_calls_are_tried_again_when_the_endpoint_is_busy(model: ScriptedModel, log: Path) -> None:
    model.queue(status(429, retry_after=0.01), status(503, retry_after=0.01))
    said = run("0.4.0", model, "echo_tasks", log, n=1, call_retries=2)
    assert said.rewards == {(0, 0): 2.0}
    assert len(model.calls) == 3


@pytest.mark.slow
def test_a_prompt_that_does_not_fit_ends_the_rollout_unfailed(
    model: ScriptedModel, log: Path
) -> None:
    model.queue(status(400, message="This model's maximum context length is 10 tokens"))
    row = run("0.4.0", model, "echo_tasks", log, n=1).row(0)
    assert (row.reward, row.error) == (0.0, None)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_an_environment_may_play_the_user(version: str, model: ScriptedModel, log: Path) -> None:
    said = run(version, model, "guess_tasks", log, n=1)
    row = said.row(0)
    assert row.reward == 3.0, row.error
    assert said.started.harness == "null, in-process"
    assert row.prompt is not None
    assert [m["role"] for m in row.prompt] == ["system", "user"]
    assert row.completion is not None
    assert [m["role"] for m in row.completion] == ["assistant", "user"] * 2 + ["assistant"]


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_judges_with_the_default_client_come_the_same_way(
    version: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "judged_tasks", log, n=2)
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}, said.row(0).error
    judged = [c.headers for c in model.calls if c.body["model"] == "judge"]
    seen = sorted((h["x-prime-example"], h["x-prime-role"]) for h in judged)
    assert seen == [("0", "judge"), ("1", "judge")]


@pytest.mark.slow
def test_extra_keywords_are_laid_over_the_environments_config(
    model: ScriptedModel, log: Path
) -> None:
    row = run("0.4.0", model, "guess_tasks", log, n=1, extra={"agent": {"max_turns": 2}}).row(0)
    assert row.reward == 2.0


@pytest.mark.slow
def test_a_taskset_without_end_asks_for_a_number(model: ScriptedModel, log: Path) -> None:
    ended = run("0.4.0", model, "endless_tasks", log, n=-1).ended
    assert ended.stage == "arguments"


@pytest.mark.network
def test_tasks_are_shuffled_by_a_seed(model: ScriptedModel, log: Path) -> None:
    spec = {"args": {"count": 20}, "options": {"shuffle": 7}}
    first = run("0.4.0", model, "echo_tasks", log, n=3, **spec)
    grown = run("0.4.0", model, "echo_tasks", log, n=6, **spec)
    order = [grown.row(example).answer for example in range(6)]
    assert order != [f"word{n}" for n in range(6)]
    assert [first.row(example).answer for example in range(3)] == order[:3]
    assert first.rewards == dict.fromkeys(first.rewards, 2.0)


@pytest.mark.network
def test_the_splits_that_a_config_lists_are_compared(model: ScriptedModel, log: Path) -> None:
    spec = {"survey": True, "first": 1, "compared": [print_of("say word2")]}
    said = run("0.4.0", model, "echo_tasks", log, n=2, **spec)
    assert said.survey is not None
    assert said.survey.overlap == Overlap(
        examples={"train": 4, "test": 4},
        shared={"test": 4},
        pairs=[("test", n, "train", n) for n in range(4)],
        known={"train": 1, "test": 1},
        hits=[("train", 2, 0), ("test", 2, 0)],
    )


@pytest.mark.network
def test_tasks_are_chosen_by_number_and_split(model: ScriptedModel, log: Path) -> None:
    spec = {"args": {"count": 9}, "options": {"examples": "2,7", "split": "test"}}
    said = run("0.4.0", model, "echo_tasks", log, n=-1, **spec)
    assert said.started.numbers == [2, 7]
    assert said.started.said == ["The split `test` is passed to the taskset as `dataset_split`"]
    assert {key: said.row(key[0]).answer for key in said.rewards} == {
        (2, 0): "word2",
        (7, 0): "word7",
    }


@pytest.mark.slow
def test_unknown_arguments_are_named(model: ScriptedModel, log: Path) -> None:
    ended = run("0.4.0", model, "echo_tasks", log, args={"cout": 3}).ended
    assert ended.stage == "arguments"
    assert ended.error is not None
    assert ended.error.message.startswith("`--env.taskset.cout`: Extra inputs are not permitted")


@pytest.mark.slow
@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", ["0.3.1", "0.4.0"])
def test_other_harnesses_get_a_base_url_for_each_episode(
    version: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "echo_tasks", log, n=2, harness="bash")
    assert said.started.harness == "bash, subprocess"
    assert said.rewards == {(0, 0): 2.0, (1, 0): 2.0}, log.read_text(encoding="utf-8")[-2000:]
    paths = {call.path for call in model.calls}
    assert paths == {f"/r/{n}.0.1/v1/chat/completions" for n in range(2)}


@pytest.mark.slow
@pytest.mark.sample(2, "harness")
@pytest.mark.parametrize("harness", ["null", "bash"])
@pytest.mark.parametrize("version", ["0.3.1", "0.4.0", "0.4.1.dev86"])
def test_an_agent_with_a_model_of_its_own_calls_by_its_own_name(
    version: str, harness: str, model: ScriptedModel, log: Path
) -> None:
    extra = {"second_one": {"model": "bigger"}}
    said = run(version, model, "duel_tasks", log, n=2, harness=harness, extra=extra)
    assert set(said.rewards) == {(0, 0), (1, 0)}, log.read_text(encoding="utf-8")[-2000:]
    found = set()
    for call in model.calls:
        identity, _ = read_identity(
            call.path, {name.title(): text for name, text in call.headers.items()}
        )
        found.add((identity.example, identity.role, call.body["model"]))
    assert found == {
        *((n, "policy", "scripted") for n in range(2)),
        *((n, "second_one", "bigger") for n in range(2)),
    }


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize(
    ("version", "module", "generation"),
    [
        pytest.param("0.4.0", "echo_tasks", "v1", marks=pytest.mark.slow),
        pytest.param("0.1.14", "words", "v0", marks=pytest.mark.slow),
        pytest.param("0.1.14", "judged", "v0", marks=pytest.mark.network),
    ],
)
def test_all_calls_may_go_over_a_unix_socket(
    model: ScriptedModel, log: Path, tmp_path: Path, version: str, module: str, generation: str
) -> None:
    path = tmp_path / "g.sock"
    python = venv_python(f"verifiers=={version}")
    spec = spec_for(model, module, generation=generation, n=1, socket=str(path))
    unreachable = {"base_url": "http://127.0.0.1:9/v1"}
    with unix_socket_of(model, path):
        said = run_worker(msgspec.structs.replace(spec, **unreachable), log, python)
    assert said.row(0).error is None
    assert {call.headers["x-prime-example"] for call in model.calls} == {"0"}


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_a_metric_may_be_named_like_a_field_of_a_row(
    version: str, model: ScriptedModel, log: Path
) -> None:
    row = run(version, model, "leaving_tasks", log, n=1).row(0)
    assert (row.reward, row.error) == (1.0, None)
    assert row.completion == [{"role": "assistant", "content": "say word0"}]
    named = dict.fromkeys(("reward", "completion", "example_id"), 0.25)
    assert row.metrics == {"correct": 1.0, **named}


@pytest.mark.sample(1, "version")
@pytest.mark.sample(2, "error")
@pytest.mark.parametrize(
    "error",
    ["SystemExit", "KeyboardInterrupt", "CancelledError", "GeneratorExit", "Finished", "exec"],
)
@pytest.mark.parametrize("version", RELEASES)
def test_code_that_ends_a_program_ends_one_rollout(
    version: str, error: str, model: ScriptedModel, log: Path
) -> None:
    for place in ("reward", "metric", "setup"):
        said = run(version, model, "leaving_tasks", log, args={"place": place, "error": error}, n=3)
        assert said.ended.ok
        assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
        failure = said.row(1).error
        assert failure is not None
        assert failure.kind == "environment"
        if place != "setup":
            assert said.row(1).completion == [{"role": "assistant", "content": "say word1"}]
