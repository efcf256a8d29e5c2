"""Folders of the v1 evaluator are listed, shown and compared like runs of ours."""

import os
import subprocess
from pathlib import Path

import pytest
import uv

from prime_cli.runs.listing import find_run, list_runs
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.v1_reader import number_episodes, row_of_episode
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.venvs import venv_python
from tests.runs.episodes import ID, episode, node, save_traces, task, trace

JUDGE = {"name": "judge", "trainable": False}
ERROR = {"type": "TaskError", "message": "scoring: boom", "traceback": "line 1"}


def test_reward_is_the_weighted_sum_that_is_not_written() -> None:
    row = row_of_episode(episode(0), 0, 0)
    assert row.reward == 2.5
    assert row.metrics == {"correct": 1.0, "kind": 0.5, "length": 9.0}
    assert row.prompt == [{"role": "user", "content": "say it"}]
    assert row.completion == [{"role": "assistant", "content": "it"}]
    assert (row.answer, row.task, row.stop_condition) == ("word0", "EchoTask", "agent_completed")
    assert row.usage == {"calls": 1, "input": 3, "output": 3, "cached": 1}
    assert row.timing == {"agent": 2.5}
    assert not row.is_truncated


def test_episode_that_failed_has_an_error_and_no_reward() -> None:
    failed = trace(task(0), ok=False, errors=[ERROR], rewards={"correct": None})
    row = row_of_episode(episode(0, failed, ok=False), 0, 0)
    assert row.reward is None
    assert row.error is not None
    assert (row.error.kind, row.error.type) == ("environment", "TaskError")
    provider = [{"type": "ProviderError", "message": "upstream 429"}]
    for own in (
        row_of_episode(episode(0, ok=False, errors=provider), 0, 0).error,
        row_of_episode(episode(0, ok=False, errors=provider, traces=[]), 0, 0).error,
    ):
        assert own is not None
        assert (own.kind, own.retryable) == ("infra", True)
    silent = row_of_episode(episode(0, ok=False, traces=[]), 0, 0)
    assert silent.error is not None
    assert silent.prompt == "say word0"


def test_agents_that_do_not_train_are_named_and_not_averaged() -> None:
    of = task(0)
    judge = trace(
        of,
        agent={"name": "judge", "trainable": False},
        rewards={"fair": {"score": 9.0}},
        metrics={},
    )
    wons = [{"won": {"score": score}} for score in (1.0, 0.0)]
    solvers = [trace(of, rewards=won, metrics={}) for won in wons]
    row = row_of_episode(episode(0, judge, *solvers), 0, 0)
    assert row.reward == 0.5
    assert row.metrics == {
        "judge/fair": 9.0,
        "judge/reward": 9.0,
        "agent#1/won": 1.0,
        "agent#1/reward": 1.0,
        "agent#2/won": 0.0,
        "agent#2/reward": 0.0,
        "agent/reward": 0.5,
    }


def test_the_only_agent_that_trains_keeps_the_names_of_its_metrics() -> None:
    of = task(0)
    judge = trace(
        of, agent={"name": "judge", "trainable": False}, rewards={}, metrics={"long": 3.0}
    )
    row = row_of_episode(episode(0, trace(of), judge), 0, 0)
    assert row.reward == 2.5
    assert row.metrics == {
        "correct": 1.0,
        "kind": 0.5,
        "length": 9.0,
        "agent/reward": 2.5,
        "judge/long": 3.0,
    }


def test_an_agent_that_failed_is_not_averaged_where_the_episode_stands() -> None:
    of = task(0)
    won = trace(of, rewards={"won": {"score": 1.0}})
    failed = trace(of, rewards={"won": None}, ok=False, errors=[ERROR])
    assert row_of_episode(episode(0, won, failed), 0, 0).reward == 1.0


def test_last_branch_of_a_conversation_is_shown() -> None:
    nodes = [
        node("user", "q"),
        node("assistant", "given up", parent=0),
        node("assistant", "a", parent=0),
        node("user", "more", parent=2),
        node("assistant", "b", parent=3),
    ]
    row = row_of_episode(episode(0, trace(task(0), nodes=nodes)), 0, 0)
    assert [each["content"] for each in row.prompt] == ["q"]
    assert [each["content"] for each in row.completion] == ["a", "more", "b"]


def test_answer_that_was_cut_is_truncated() -> None:
    cut = trace(task(0), calls=[{"finish_reason": "length", "usage": None}])
    assert row_of_episode(episode(0, cut), 0, 0).is_truncated


def test_rollouts_are_counted_as_they_come() -> None:
    rows = number_episodes([episode(7), episode(3), episode(7)])
    assert [(row.example_id, row.rollout) for row in rows] == [(7, 0), (3, 0), (7, 1)]
    nameless = [episode(None) | {"task": task(None, key)} for key in ("b", "a", "b")]
    rows = number_episodes(nameless)
    assert [(row.example_id, row.rollout) for row in rows] == [(0, 0), (1, 0), (0, 1)]


def test_a_task_that_is_numbered_by_a_hash_has_room_in_a_row() -> None:
    first, other, again = number_episodes([episode(2**63), episode(2**62), episode(2**63)])
    assert (first.example_id, again.rollout) == (again.example_id, 1)
    assert 0 <= first.example_id < 2**62
    assert first.example_id != other.example_id


def test_lines_of_0_2_are_traces_of_one_agent() -> None:
    failed = trace(task(1), ok=False, errors=[ERROR])
    rows = list(number_episodes([trace(task(0)), failed]))
    assert [row.reward for row in rows] == [2.5, None]


def test_folder_is_listed_and_shown(tmp_path: Path) -> None:
    folder = save_traces(tmp_path, episode(0), episode(1), episode(0), episode(1))
    (listed,) = list_runs(tmp_path)
    assert (listed.run_id, listed.environment, listed.model) == (ID, "echo-tasks", "org/mock")
    assert (listed.num_examples, listed.rollouts_per_example) == (2, 2)
    summary = find_run("echo", tmp_path).summary()
    assert summary.path == str(folder)
    assert (summary.reward.mean, summary.counts.scored) == (2.5, 4)
    assert summary.environment.verifiers == "0.4.0"
    assert summary.environment.harness == "null"


def test_a_torn_last_line_is_ignored(tmp_path: Path) -> None:
    folder = save_traces(tmp_path, episode(0))
    with (folder / "traces.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "torn", "tas')
    assert len(list(open_run(folder).rows())) == 1


def test_folder_without_a_config_is_known_by_its_name(tmp_path: Path) -> None:
    folder = save_traces(tmp_path, episode(0))
    (folder / "configs" / "resolved" / "eval.json").unlink()
    summary = open_run(folder).summary()
    assert (summary.environment.ref, summary.model) == ("echo-tasks", "org/mock")
    (folder / "config.toml").write_text('model = "m"\n[taskset]\nid = "other"\n', encoding="utf-8")
    summary = open_run(folder).summary()
    assert (summary.environment.ref, summary.model) == ("other", "m")


@pytest.mark.slow
def test_what_the_evaluator_of_0_4_0_writes_is_read(tmp_path: Path) -> None:
    python = venv_python("verifiers==0.4.0")
    environments = Path(__file__).parents[1] / "runtime" / "worker" / "environments"
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("UV_", "SSL_"))}
    with ScriptedModel() as model:
        argv = (
            f"echo-tasks -m org/mock --client.base-url {model.url} --client.api-key-var KEY "
            "-n 3 -r 2 -c 1 --no-push --no-rich --env.agent.runtime.type subprocess "
            "--env.agent.harness.id null --env.taskset.trouble boom"
        )
        subprocess.run(
            [str(python.parent / "vf-eval"), *argv.split()],
            cwd=tmp_path,
            env=kept
            | {
                "PATH": f"{Path(uv.find_uv_bin()).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "PYTHONPATH": str(environments),
                "KEY": "x",
                "PRIME_TRACES_OPT_OUT": "1",
            },
            check=True,
            capture_output=True,
            timeout=600,
        )
    (listed,) = list_runs(tmp_path)
    assert (listed.environment, listed.model, listed.num_examples) == ("echo-tasks", "org/mock", 3)
    summary = open_run(Path(listed.path)).summary()
    assert summary.rollouts == {"r1": [2.0, None, 2.0], "r2": [2.0, None, 2.0]}
    assert summary.metrics["length"].mean == len("say word0")
    (failure,) = summary.errors
    assert (failure.type, failure.count) == ("TaskError", 2)
