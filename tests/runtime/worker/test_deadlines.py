"""Scoring that does not end, on real releases: it costs its own rollout, and that is an error."""

from pathlib import Path

import pytest

from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import Said
from tests.runtime.worker.test_v0 import EVERY_FAMILY
from tests.runtime.worker.test_v0 import run as run_v0
from tests.runtime.worker.test_v1 import run as run_v1

V1 = [pytest.param(version, marks=pytest.mark.slow) for version in ("0.4.0", "0.3.1")]


def check(said: Said, words: str = "") -> None:
    """The second of three has no score, and the reason is the environment's."""
    assert said.ended.ok
    assert said.rewards == {(0, 0): 1.0, (1, 0): None, (2, 0): 1.0}
    error = said.row(1).error
    assert error is not None
    assert (error.kind, error.retryable) == ("environment", False)
    assert words in error.message


@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_scoring_that_waits_meets_its_deadline(
    version: str, model: ScriptedModel, log: Path
) -> None:
    check(run_v0(version, model, "slow_scores", log, score_s=3.0), "longer than 3 s")


@pytest.mark.parametrize("version", EVERY_FAMILY)
def test_scoring_that_blocks_is_interrupted(version: str, model: ScriptedModel, log: Path) -> None:
    spec = {"args": {"blocks": True}, "blocked_s": 5.0}
    check(run_v0(version, model, "slow_scores", log, **spec), "let nothing else run")


@pytest.mark.parametrize("version", V1)
def test_v1_scoring_that_waits_meets_its_deadline(
    version: str, model: ScriptedModel, log: Path
) -> None:
    check(run_v1(version, model, "slow_score_tasks", log, score_s=3.0), "longer than 3 s")


@pytest.mark.parametrize("version", V1)
def test_v1_scoring_that_blocks_is_interrupted(
    version: str, model: ScriptedModel, log: Path
) -> None:
    spec = {"args": {"how": "block"}, "blocked_s": 5.0}
    check(run_v1(version, model, "slow_score_tasks", log, **spec), "let nothing else run")


@pytest.mark.parametrize("version", V1)
def test_a_deadline_of_the_tasks_own_is_no_score_either(
    version: str, model: ScriptedModel, log: Path
) -> None:
    spec = {"args": {"own": 2.0}, "score_s": 300.0}
    check(run_v1(version, model, "slow_score_tasks", log, **spec))
