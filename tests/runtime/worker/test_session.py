"""A worker's life, against a small verifiers that starts quickly."""

import asyncio
import time
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.runtime.protocol import Rollout, Start
from tests.helpers.scripted_model import BAD_JSON, ScriptedModel, status
from tests.runtime.worker.runs import WITH_OPENAI, Said, run_worker, small_spec, worker_for


def test_a_run_says_hello_start_every_rollout_and_end(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, r=2), log)
    assert said.hello is not None
    assert said.hello.generation == "v0"
    assert (said.started.examples, said.started.planned, said.started.owed) == (3, 6, 6)
    assert said.started.unit == "rollout"
    assert said.started.answers == {"0": "word0", "1": "word1", "2": "word2"}
    assert said.rewards == {(e, r): 1.0 for e in range(3) for r in range(2)}
    assert said.ended.ok


def test_a_row_holds_what_the_rollout_was_and_cost(model: ScriptedModel, log: Path) -> None:
    row = run_worker(small_spec(model, state_columns=["answer", "nothing"]), log).row(2)
    assert row.prompt == [{"role": "user", "content": "say word2"}]
    assert row.completion is not None
    assert row.completion[0]["content"] == "say word2"
    assert row.metrics == {"correct": 1.0, "length": 9.0}
    assert row.usage is not None
    assert (row.usage.input, row.usage.output) == (2, 2)
    assert row.state == {"answer": "word2", "nothing": None}
    assert row.info == {"trouble": ""}


def test_prints_go_to_the_log_from_python_and_from_below(model: ScriptedModel, log: Path) -> None:
    run_worker(small_spec(model, n=1), log)
    text = log.read_text(encoding="utf-8")
    assert "a rollout begins" in text
    assert "and says so on stderr" in text
    assert "and on descriptor 1" in text


def test_the_environment_does_not_take_over_the_process(model: ScriptedModel, log: Path) -> None:
    run_worker(small_spec(model, n=1), log)
    assert "at SIGTERM: 0" in log.read_text(encoding="utf-8")


def test_teardown_and_exit_hooks_run_once_at_the_end(model: ScriptedModel, log: Path) -> None:
    run_worker(small_spec(model), log)
    assert log.read_text(encoding="utf-8").endswith("torn down\nexit hooks run\n")


def test_every_call_says_for_which_attempt_it_is_made(model: ScriptedModel, log: Path) -> None:
    run_worker(small_spec(model, r=2, attempts={"1.0": 3}), log)
    seen = {
        (h["x-prime-example"], h["x-prime-rollout"], h["x-prime-attempt"], h["x-prime-role"])
        for h in (call.headers for call in model.calls)
    }
    owed = {(str(e), str(r)) for e in range(3) for r in range(2)}
    assert seen == {(e, r, "3" if (e, r) == ("1", "0") else "1", "policy") for e, r in owed}
    assert {call.headers["authorization"] for call in model.calls} == {"Bearer run-token"}


def test_calls_of_a_group_are_distinguished(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, n=2, r=3, args={"grouped": True}), log)
    assert said.started.unit == "group"
    for call in model.calls:
        assert call.last_user == f"say word{call.headers['x-prime-example']}"
    pairs = {(c.headers["x-prime-example"], c.headers["x-prime-rollout"]) for c in model.calls}
    assert len(pairs) == len(model.calls) == 6


def test_a_shuffled_run_takes_other_examples_and_grows_by_the_next_ones(
    model: ScriptedModel, log: Path
) -> None:
    first, grown, all_ = (
        run_worker(small_spec(model, n=n, args={"count": 20}, options={"shuffle": 7}), log)
        for n in (3, 6, -1)
    )
    assert [len(each.rollouts) for each in (first, grown, all_)] == [3, 6, 20]
    order = [all_.row(example).answer for example in range(20)]
    assert sorted(order) == sorted(f"word{n}" for n in range(20))
    assert order != [f"word{n}" for n in range(20)]
    assert [grown.row(example).answer for example in range(6)] == order[:6]
    assert [first.row(example).answer for example in range(3)] == order[:3]
    assert first.rewards == dict.fromkeys(first.rewards, 1.0)
    other = run_worker(small_spec(model, args={"count": 20}, options={"shuffle": 8}), log)
    assert [other.row(example).answer for example in range(3)] != order[:3]


def test_chosen_examples_keep_their_numbers(model: ScriptedModel, log: Path) -> None:
    of_20: dict[str, object] = {"count": 20}
    said = run_worker(small_spec(model, n=-1, args=of_20, options={"examples": "3,7,10-11"}), log)
    assert said.started.numbers == [3, 7, 10, 11]
    assert said.started.answers == {str(n): f"word{n}" for n in (3, 7, 10, 11)}
    assert said.rewards == {(n, 0): 1.0 for n in (3, 7, 10, 11)}
    assert said.row(7).answer == "word7"
    shuffled: dict[str, object] = {"examples": "3,7,10-11", "shuffle": 7}
    few, all_ = (
        run_worker(small_spec(model, n=n, args=of_20, options=shuffled), log) for n in (2, -1)
    )
    numbers = all_.started.numbers or []
    assert (sorted(numbers), few.started.numbers) == ([3, 7, 10, 11], numbers[:2])
    assert {few.row(n).answer for n in numbers[:2]} == {f"word{n}" for n in numbers[:2]}


def test_a_missing_example_is_reported_with_how_many_there_are(
    model: ScriptedModel, log: Path
) -> None:
    ended = run_worker(small_spec(model, options={"examples": "1,5-9"}), log).ended
    assert (ended.ok, ended.stage) == (False, "examples")
    assert ended.error is not None
    assert ended.error.message == "has 3 examples, numbered 0 to 2, and 5 was requested"


def test_what_is_done_does_not_run_again(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, r=2, done=[(0, 0), (0, 1), (2, 1)]), log)
    assert said.started.owed == 3
    assert set(said.rewards) == {(1, 0), (1, 1), (2, 0)}


def test_an_unfinished_group_runs_whole(model: ScriptedModel, log: Path) -> None:
    spec = small_spec(model, n=2, r=2, args={"grouped": True}, done=[(0, 0), (0, 1), (1, 0)])
    assert set(run_worker(spec, log).rewards) == {(1, 0), (1, 1)}


def test_no_more_rollouts_run_at_once_than_asked(log: Path) -> None:
    with ScriptedModel(latency=0.05) as model:
        run_worker(small_spec(model, n=12, concurrency=3, args={"count": 12}), log)
        assert model.most_at_once == 3


def test_a_rollout_that_raises_is_a_row_and_no_score(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"trouble": "raise"}), log)
    assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.type, error.retryable) == ("environment", "TypeError", False)
    assert error.message == "no rollout today"
    assert error.traceback is not None
    assert "small.py" in error.traceback
    assert said.ended.ok


def test_a_reward_function_that_raises_is_not_a_score_of_zero(
    model: ScriptedModel, log: Path
) -> None:
    row = run_worker(small_spec(model, args={"trouble": "reward"}), log).row(1)
    assert row.reward is None
    assert row.error is not None
    assert (row.error.kind, row.error.type) == ("environment", "RewardFailed")
    assert row.error.message == "correct: ZeroDivisionError: no reward today"
    assert row.metrics == {"correct": None, "length": 9.0}


def test_a_metric_that_raises_costs_only_itself(model: ScriptedModel, log: Path) -> None:
    row = run_worker(small_spec(model, args={"trouble": "metric"}), log).row(1)
    assert (row.reward, row.error) == (1.0, None)
    assert row.metrics == {"correct": 1.0, "length": None}


def test_one_failure_in_a_group_leaves_no_half_scored_group(
    model: ScriptedModel, log: Path
) -> None:
    model.queue(status(400))
    said = run_worker(
        small_spec(model, n=1, r=3, args={"grouped": True}, pythonpath=WITH_OPENAI), log
    )
    kinds = sorted(row.error.type for row in said.rollouts if row.error is not None)
    assert kinds == ["BadRequestError", "GroupFailed", "GroupFailed"]
    assert {row.reward for row in said.rollouts} == {None}


def test_errors_of_the_endpoint_are_sorted_by_fault(model: ScriptedModel, log: Path) -> None:
    model.queue(status(400), status(401), status(429), status(503), BAD_JSON)
    said = run_worker(
        small_spec(model, n=5, concurrency=1, args={"count": 5}, pythonpath=WITH_OPENAI), log
    )
    errors = [said.row(example).error for example in range(5)]
    assert [(error.kind, error.retryable) for error in errors if error is not None] == [
        ("model", False),  # 400
        ("infra", False),  # 401
        ("infra", True),  # 429
        ("infra", True),  # 503
        ("model", True),  # not JSON
    ]


def test_what_may_succeed_later_is_tried_again(model: ScriptedModel, log: Path) -> None:
    model.queue(status(503), status(503))
    row = run_worker(small_spec(model, n=1, max_retries=2, pythonpath=WITH_OPENAI), log).row(0)
    assert (row.reward, row.attempt) == (1.0, 3)
    assert [call.headers["x-prime-attempt"] for call in model.calls] == ["1", "2", "3"]


def test_what_cannot_succeed_later_is_not(model: ScriptedModel, log: Path) -> None:
    model.queue(status(400))
    row = run_worker(small_spec(model, n=1, max_retries=2, pythonpath=WITH_OPENAI), log).row(0)
    assert row.error is not None
    assert len(model.calls) == 1


def test_a_process_that_dies_is_an_error_with_the_end_of_its_log(
    model: ScriptedModel, log: Path
) -> None:
    with pytest.raises(EnvironmentFailed, match=r"died \(exit code 7\)") as failure:
        run_worker(small_spec(model, args={"trouble": "exit"}), log)
    assert failure.value.detail is not None
    assert "a rollout begins" in failure.value.detail


def test_cancel_keeps_what_is_done_and_starts_nothing_new(model: ScriptedModel, log: Path) -> None:
    async def cancel_after_one() -> Said:
        spec = small_spec(model, args={"trouble": "sleep"}, concurrency=1)
        said = Said()
        async with worker_for(spec, log) as worker:
            async for event in worker.events():
                said.hear(event)
                if isinstance(event, Rollout):
                    await worker.cancel()
        return said

    begun = time.monotonic()
    said = asyncio.run(cancel_after_one())
    assert set(said.rewards) == {(0, 0)}
    assert (said.ended.ok, said.ended.stage) == (False, "interrupted")
    assert time.monotonic() - begun < 50


def test_the_environments_oracle_answers_while_rollouts_run(
    model: ScriptedModel, log: Path
) -> None:
    async def ask() -> tuple[Said, list[dict[str, object]]]:
        said, asked = Said(), []
        spec = small_spec(model, args={"trouble": "tool"})
        async with worker_for(spec, log) as worker:
            async for event in worker.events():
                said.hear(event)
                if isinstance(event, Start):
                    talk = [{"role": "user", "content": "what is it"}]
                    asked = [asyncio.ensure_future(worker.ask_oracle(n, talk)) for n in range(3)]
            return said, await asyncio.gather(*asked)

    with ScriptedModel(latency=0.3) as slow:
        model = slow
        said, answers = asyncio.run(ask())
    assert said.started.oracle
    assert answers[0] == {"role": "assistant", "content": "what is it: word0"}
    call = {"name": "say", "arguments": '{"text": "word1"}'}
    assert answers[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_0", "type": "function", "function": call}],
    }


def test_an_oracle_that_raises_reports_it_to_the_caller(log: Path) -> None:
    async def ask(model: ScriptedModel) -> None:
        asked = None
        async with worker_for(small_spec(model, args={"trouble": "oracle"}), log) as worker:
            async for event in worker.events():
                if isinstance(event, Start):
                    asked = asyncio.ensure_future(worker.ask_oracle(1, []))
            assert asked is not None
            await asked

    with (
        ScriptedModel(latency=0.3) as model,
        pytest.raises(EnvironmentFailed, match="LookupError: no oracle today"),
    ):
        asyncio.run(ask(model))
