"""Real v0 environments on real releases of verifiers: one of each family, and the seams between.

0.1.14, which most environments of today run on, is tested in every run; the others are slow.
"""

import json
from pathlib import Path

import pytest

from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import ROW_KEYS
from prime_cli.runtime.protocol import Overlap
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, tool_call
from tests.helpers.venvs import python_at_hand, venv_python
from tests.runtime.worker.runs import Said, run_worker, spec_for

TODAY = pytest.param("0.1.14", marks=pytest.mark.network)


def old(*versions: str) -> list[object]:
    return [pytest.param(version, marks=pytest.mark.slow) for version in versions]


EVERY_FAMILY = [
    TODAY,
    *old("0.1.3", "0.1.5.post0", "0.1.7.post0", "0.1.8.post2", "0.1.9.post3"),
    *old("0.1.10", "0.1.12", "0.3.1"),
]
FAMILY = {"0.1.3": "A", "0.1.5.post0": "A", "0.1.7.post0": "B", "0.1.8.post2": "B"}
FAMILY |= {"0.1.9.post3": "B"}


def run(version: str, model: ScriptedModel, module: str, log: Path, **fields: object) -> Said:
    python = venv_python(f"verifiers=={version}")
    return run_worker(spec_for(model, module, **fields), log, python)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_a_single_turn(version: str, model: ScriptedModel, log: Path) -> None:
    spec = {"n": 3, "r": 2, "sampling": {"temperature": 0.5, "max_tokens": 7}}
    said = run(version, model, "words", log, **spec)
    assert said.started.family == FAMILY.get(version, "C")
    assert said.started.unit == "rollout"
    assert said.started.answers == {"0": "word0", "1": "word1", "2": "word2"}
    assert said.rewards == {(e, r): 1.0 for e in range(3) for r in range(2)}
    for row in said.rollouts:
        word = f"say word{row.example_id}"
        assert row.prompt == [{"role": "user", "content": word}]
        assert row.completion == [{"role": "assistant", "content": word}]
        assert row.metrics | {"correct": 1.0, "length": 9.0} == row.metrics
        assert (row.answer, row.info) == (f"word{row.example_id}", {"n": row.example_id})
        assert row.usage is not None
        assert (row.usage.input, row.usage.output) == (2, 2)
        assert all(0 <= seconds < 60 for seconds in row.timing.values())
        assert not row.is_truncated
    for call in model.calls:
        assert call.last_user == f"say word{call.headers['x-prime-example']}"
        assert call.headers["x-prime-role"] == "policy"
        assert call.body["temperature"] == 0.5
        assert 7 in (call.body.get("max_tokens"), call.body.get("max_completion_tokens"))
    assert "words are loaded" in log.read_text(encoding="utf-8")


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", old("0.1.3", "0.1.5.post0", "0.1.7.post0"))
def test_several_turns_in_the_old_api(version: str, model: ScriptedModel, log: Path) -> None:
    check_three_turns(run(version, model, "talk_old", log, n=2), model)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", [TODAY, *old("0.1.8.post2", "0.1.9.post3", "0.1.12", "0.3.1")])
def test_several_turns_in_the_new_api(version: str, model: ScriptedModel, log: Path) -> None:
    check_three_turns(run(version, model, "talk_new", log, n=2), model)


def check_three_turns(said: Said, model: ScriptedModel) -> None:
    assert said.rewards == {(0, 0): 5.0, (1, 0): 5.0}
    assert said.row(0).completion is not None
    assert [m["role"] for m in said.row(0).completion] == ["assistant", "user"] * 2 + ["assistant"]
    assert [call.headers["x-prime-example"] for call in model.calls].count("1") == 3


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", old("0.1.3", "0.1.5.post0", "0.1.7.post0", "0.1.8.post2"))
def test_what_an_old_environment_keeps_under_error_is_its_own(
    version: str, model: ScriptedModel, log: Path
) -> None:
    row = run(version, model, "remembers_errors", log, n=1).row(0)
    assert (row.reward, row.error) == (1.0, None)


@pytest.mark.slow
def test_what_counts_as_a_failure_since_0_1_9_is_an_error(model: ScriptedModel, log: Path) -> None:
    row = run("0.1.9.post3", model, "remembers_errors", log, n=1).row(0)
    assert row.reward is None
    assert row.error is not None
    assert row.error.kind == "environment"


def calls_a_tool_once(request: Received) -> Reply:
    if any(message["role"] == "tool" for message in request.messages):
        return Reply(f"it is {request.messages[-1]['content']}")
    return Reply(None, tool_calls=(tool_call("add", {"a": 2, "b": 3}),))


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_a_tool(version: str, log: Path) -> None:
    with ScriptedModel(calls_a_tool_once) as model:
        row = run(version, model, "sums", log, n=1).row(0)
    assert row.reward == 1.0, row.error
    assert row.completion is not None
    [call] = row.completion[0]["tool_calls"]
    assert (call["function"]["name"], call["id"]) == ("add", "call_1")
    assert json.loads(call["function"]["arguments"]) == {"a": 2, "b": 3}
    assert row.completion[-1]["content"] == "it is 5"


def longer_for_later_rollouts(request: Received) -> str:
    return "x" * (1 + int(request.headers["x-prime-rollout"]))


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", [TODAY, *old("0.1.8.post2", "0.1.9.post3", "0.1.12", "0.3.1")])
def test_rewards_within_a_group(version: str, log: Path) -> None:
    with ScriptedModel(longer_for_later_rollouts) as model:
        said = run(version, model, "ranked", log, n=2, r=3)
    assert said.started.unit == "group"
    assert said.rewards == {(e, r): float(r == 2) for e in range(2) for r in range(3)}


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", [TODAY, *old("0.1.5.post0", "0.3.1")])
def test_judges_with_the_default_client_come_the_same_way(
    version: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "judged", log, n=2)
    assert said.rewards == {(0, 0): 2.0, (1, 0): 2.0}
    judged = [c.headers for c in model.calls if c.body["model"] == "judge"]
    assert sorted((h["x-prime-example"], h["x-prime-role"]) for h in judged) == [
        ("0", "judge"),
        ("0", "judge"),
        ("1", "judge"),
        ("1", "judge"),
    ]
    assert {h["authorization"] for h in judged} == {"Bearer run-token"}


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", old("0.1.5.post0", "0.1.9.post3", "0.1.14"))
def test_a_truncated_answer_is_reported(version: str, log: Path) -> None:
    with ScriptedModel(Reply("word0 and so o", finish_reason="length")) as model:
        assert run(version, model, "words", log, n=1).row(0).is_truncated


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", [TODAY, *old("0.1.5.post0", "0.1.9.post3", "0.1.12", "0.3.1")])
def test_no_release_turns_an_error_into_a_score(version: str, log: Path) -> None:
    with ScriptedModel(Reply(status=400, error={"message": "no such model"})) as model:
        said = run(version, model, "words", log, n=2)
    assert said.rewards == {(0, 0): None, (1, 0): None}
    error = said.row(0).error
    assert error is not None
    assert (error.kind, error.retryable) == ("model", False)
    assert "no such model" in error.message
    assert said.ended.ok


@pytest.mark.slow
@pytest.mark.sample(1, "python")
@pytest.mark.parametrize("python", ["3.10", "3.12", "3.13"])
def test_other_pythons(python: str, model: ScriptedModel, log: Path) -> None:
    path = python_at_hand(python)
    if path is None:
        pytest.skip(f"Python {python} is not on this machine")
    interpreter = venv_python("verifiers==0.1.14", python=path)
    said = run_worker(spec_for(model, "words", n=2), log, interpreter)
    assert said.hello is not None
    assert said.hello.python.startswith(python)
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}


@pytest.mark.network
def test_a_split_is_one_of_the_environments_own_datasets(model: ScriptedModel, log: Path) -> None:
    said = run("0.1.14", model, "words", log, n=1, options={"split": "train"})
    assert said.rewards == {(0, 0): 1.0}
    ended = run("0.1.14", model, "words", log, n=1, options={"split": "eval"}).ended
    assert ended.stage == "arguments"
    assert ended.error is not None
    assert ended.error.message == "the environment has no data for the split `eval`"


@pytest.mark.network
def test_its_own_datasets_are_compared(model: ScriptedModel, log: Path) -> None:
    fields = {"n": 2, "survey": True, "first": 1, "compared": []}
    one = run("0.1.14", model, "words", log, **fields).survey
    assert one is not None
    assert one.overlap == Overlap(examples={"train": 4})
    two = run("0.1.14", model, "words", log, **fields, args={"evaluated": 2}).survey
    assert two is not None
    assert two.overlap is not None
    assert (two.overlap.examples, two.overlap.shared) == ({"train": 4, "eval": 2}, {"eval": 2})
    assert two.overlap.pairs == [("eval", 0, "train", 2), ("eval", 1, "train", 3)]


FIELDS = sorted({*Row.__struct_fields__, *ROW_KEYS, "token_usage", "trajectory"})
"""Every name that a row, a line of results.jsonl or a sample has for something else."""


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_a_function_may_be_named_like_any_field_of_a_row(
    version: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "named", log, n=2, args={"names": FIELDS})
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0}
    for row in said.rollouts:
        word = f"say word{row.example_id}"
        assert row.completion == [{"role": "assistant", "content": word}]
        assert (row.answer, row.error) == (f"word{row.example_id}", None)
        assert row.metrics.items() >= {"right": 1.0, **dict.fromkeys(FIELDS, 0.25)}.items()
        assert row.usage is not None
        assert (row.usage.input, row.usage.output) == (2, 2)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", [TODAY, *old("0.1.9.post3", "0.1.12", "0.3.1")])
def test_so_may_one_of_a_member_of_a_group(version: str, model: ScriptedModel, log: Path) -> None:
    names = [name for name in FIELDS if name != "info"]  # 0.3.1 itself fails on that one
    said = run(version, model, "members", log, n=4, args={"names": names})
    assert [row.error for row in said.rollouts] == [None] * 4
    assert set(said.rewards.values()) == {1.0}
    for row in said.rollouts:
        assert row.completion == [{"role": "assistant", "content": f"say {row.answer}"}]


LEFT = "SystemExit KeyboardInterrupt CancelledError GeneratorExit Finished exec".split()


@pytest.mark.sample(1, "version")
@pytest.mark.sample(2, "error")
@pytest.mark.parametrize("error", LEFT)
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_code_that_ends_a_program_in_scoring_ends_one_rollout_and_keeps_its_answer(
    version: str, error: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "leaving", log, args={"place": "reward", "error": error}, n=3)
    assert said.ended.ok
    assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
    failure = said.row(1).error
    assert failure is not None
    kind = "SystemExit" if error == "exec" else error
    assert (failure.kind, failure.type, failure.in_scoring) == ("environment", kind, True)
    assert failure.message.startswith(f"the environment's code raised {kind}")
    assert said.row(1).completion == [{"role": "assistant", "content": "say word1"}]


@pytest.mark.sample(1, "version")
@pytest.mark.sample(2, "error")
@pytest.mark.parametrize("error", LEFT)
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_code_that_ends_a_program_in_a_function_of_weight_0_costs_its_value_alone(
    version: str, error: str, model: ScriptedModel, log: Path
) -> None:
    said = run(version, model, "leaving", log, args={"place": "async reward", "error": error}, n=3)
    assert said.ended.ok
    assert said.rewards == {(0, 0): 1.0, (1, 0): 1.0, (2, 0): 1.0}
    assert [said.row(n).metrics["later"] for n in range(3)] == [0.5, None, 0.5]


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_code_that_ends_a_program_in_a_callback_of_the_loop_ends_nothing(
    version: str, model: ScriptedModel, log: Path
) -> None:
    args = {"place": "callback", "error": "SystemExit"}
    said = run(version, model, "leaving", log, args=args, n=3)
    assert said.ended.ok
    assert set(said.rewards.values()) == {1.0}
    assert "a callback of the event loop raised" in log.read_text(encoding="utf-8")


@pytest.mark.sample(1, "error")
@pytest.mark.parametrize("error", LEFT)
def test_code_that_ends_a_program_in_teardown_ends_nothing(
    error: str, model: ScriptedModel, log: Path
) -> None:
    args = {"place": "teardown", "error": error}
    said = run("0.1.14", model, "leaving", log, args=args, n=3)
    assert said.ended.ok
    assert set(said.rewards.values()) == {1.0}
    assert "teardown failed" in log.read_text(encoding="utf-8")


@pytest.mark.sample(1, "version")
@pytest.mark.sample(2, "error")
@pytest.mark.parametrize("error", LEFT)
@pytest.mark.parametrize("version", [TODAY, *old("0.1.9.post3", "0.1.12", "0.3.1")])
def test_code_that_ends_a_program_ends_one_rollout_wherever_it_is(
    version: str, error: str, model: ScriptedModel, log: Path
) -> None:
    for place in ("setup", "turn"):
        said = run(version, model, "leaving", log, args={"place": place, "error": error}, n=3)
        assert said.ended.ok
        assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
        failure = said.row(1).error
        assert failure is not None
        assert failure.kind == "environment"
    ended = run(version, model, "leaving", log, args={"place": "load", "error": "SystemExit"}).ended
    assert (ended.ok, ended.stage) == (False, "load")
