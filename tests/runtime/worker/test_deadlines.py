"""What does not end costs its own rollout, and that is an error; at last on real releases."""

from pathlib import Path

import pytest

from prime_cli.core.errors import WorkerDied
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import Said, run_worker, small_spec
from tests.runtime.worker.test_v0 import EVERY_FAMILY
from tests.runtime.worker.test_v0 import run as run_v0
from tests.runtime.worker.test_v1 import run as run_v1

pytestmark = pytest.mark.slow

V1 = [pytest.param(version, marks=pytest.mark.slow) for version in ("0.4.0", "0.3.1")]


def test_a_rollout_may_take_only_so_long(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"trouble": "sleep"}, timeout_s=6.0), log)
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.type, error.retryable) == ("environment", "RolloutTimeout", False)
    assert said.row(0).reward == 1.0


def test_scoring_may_take_only_so_long(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"trouble": "slow reward"}, score_s=2.0), log)
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.type, error.retryable) == ("environment", "ScoringTimeout", False)
    assert "longer than 2 s" in error.message
    assert (said.row(0).reward, said.row(1).reward) == (1.0, None)
    assert said.row(1).completion is not None


@pytest.mark.parametrize("how", ["sleeping", "looping", "matching"])
def test_scoring_that_never_awaits_is_interrupted_and_fails_one_rollout(
    how: str, model: ScriptedModel, log: Path
) -> None:
    spec = small_spec(model, args={"trouble": f"{how} reward"}, blocked_s=3.0, concurrency=1)
    said = run_worker(spec, log)
    error = said.row(1).error
    assert error is not None
    assert error.kind == "environment"
    assert "let nothing else run" in error.message
    assert [said.row(n).reward for n in range(3)] == [1.0, None, 1.0]
    assert said.ended.ok


def test_a_rollout_that_never_awaits_is_interrupted(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"trouble": "block"}, blocked_s=3.0), log)
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.type) == ("environment", "Blocked")
    assert said.row(0).reward == 1.0
    assert said.ended.ok


def test_slow_code_that_awaits_is_not_interrupted(log: Path) -> None:
    with ScriptedModel(latency=5) as slow:
        said = run_worker(small_spec(slow, blocked_s=4.0), log)
    assert set(said.rewards.values()) == {1.0}


def test_what_no_signal_reaches_is_ended_with_the_process(model: ScriptedModel, log: Path) -> None:
    spec = small_spec(model, args={"trouble": "dead reward"}, blocked_s=3.0, concurrency=1)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        run_worker(spec, log)


@pytest.mark.slow
def test_a_teardown_that_hangs_is_given_up(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"hangs": True}), log)
    assert set(said.rewards.values()) == {1.0}
    assert said.ended.ok
    assert "teardown did not end in time" in log.read_text(encoding="utf-8")


def check(said: Said, words: str = "") -> None:
    """The second of three has no score, and the reason is the environment's."""
    assert said.ended.ok
    assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.retryable) == ("environment", False)
    assert words in error.message


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_scoring_that_waits_meets_its_deadline(
    version: str, model: ScriptedModel, log: Path
) -> None:
    check(run_v0(version, model, "slow_scores", log, score_s=3.0), "longer than 3 s")


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_scoring_that_blocks_is_interrupted(version: str, model: ScriptedModel, log: Path) -> None:
    spec = {"args": {"blocks": True}, "blocked_s": 5.0}
    check(run_v0(version, model, "slow_scores", log, **spec), "let nothing else run")


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", V1)
def test_v1_scoring_that_waits_meets_its_deadline(
    version: str, model: ScriptedModel, log: Path
) -> None:
    check(run_v1(version, model, "slow_score_tasks", log, score_s=3.0), "longer than 3 s")


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", V1)
def test_v1_scoring_that_blocks_is_interrupted(
    version: str, model: ScriptedModel, log: Path
) -> None:
    spec = {"args": {"how": "block"}, "blocked_s": 5.0}
    check(run_v1(version, model, "slow_score_tasks", log, **spec), "let nothing else run")


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", V1)
def test_a_deadline_of_the_task_is_not_a_score_either(
    version: str, model: ScriptedModel, log: Path
) -> None:
    spec = {"args": {"own": 2.0}, "score_s": 300.0}
    check(run_v1(version, model, "slow_score_tasks", log, **spec))
