"""A later worker sees that its examples are those of the first, also where there are more."""

from pathlib import Path

from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import Said, run_worker, small_spec


def fingerprint_of(model: ScriptedModel, log: Path, n: int) -> str:
    return run_worker(small_spec(model, n=n), log).started.fingerprint


def require_refused(said: Said, why: str) -> None:
    assert said.start is None
    assert said.ended.stage == "data"
    assert said.ended.error is not None
    assert said.ended.error.message == why
    assert said.rollouts == []


def test_more_examples_begin_with_the_same_ones(model: ScriptedModel, log: Path) -> None:
    before = fingerprint_of(model, log, 2)
    said = run_worker(small_spec(model, n=3, prefix=2, fingerprint=before), log)
    assert said.started.fingerprint == fingerprint_of(model, log, 3) != before


def test_other_examples_end_the_worker_before_a_model_is_called(
    model: ScriptedModel, log: Path
) -> None:
    said = run_worker(small_spec(model, n=3, prefix=2, fingerprint="ab" * 32), log)
    require_refused(said, "the first 2 examples are others now")
    assert model.calls == []


def test_fewer_examples_than_before_are_others(model: ScriptedModel, log: Path) -> None:
    before = fingerprint_of(model, log, 3)
    said = run_worker(small_spec(model, n=2, prefix=3, fingerprint=before), log)
    require_refused(said, "the data set had 3 examples and has 2")
