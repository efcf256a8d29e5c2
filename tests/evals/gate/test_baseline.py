from pathlib import Path

import pytest

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.evals.gate.baseline import read_baseline
from prime_cli.evals.gate.thresholds import Limits, judge
from prime_cli.runs.saved_run import open_run
from prime_cli.wire.environments import ResolveRequest
from prime_cli.wire.evaluations import EnvironmentReference, EvaluationRequest
from tests.evals.sharing.pushing import change_environment, open_way, push, wheel_of
from tests.helpers.hubs import open_hub
from tests.runs.rows import row
from tests.runs.saving import save_run

ASKED = [{"role": "user", "content": "say a"}]


def no_hub() -> HubClient:
    raise AssertionError("a saved run needs no hub")


def test_a_saved_run_is_a_baseline_without_a_hub(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, 0, 0.5))
    found = read_baseline(folder.run_id, tmp_path, no_hub)
    assert found.examples[0].rewards == [0.5]


def test_a_run_that_was_pushed_is_a_baseline_from_anywhere(tmp_path: Path) -> None:
    hub, _ = open_way(tmp_path / "hub")
    folder = save_run(tmp_path, row(0, 0, 1.0, prompt=ASKED), row(1, 0, 0.0))
    change_environment(folder, sha256=wheel_of(hub))
    evaluation = push(hub, folder).evaluation_id
    found = read_baseline(evaluation, tmp_path / "elsewhere", lambda: hub)
    assert (found.run, found.model) == (evaluation, "org/model")
    assert found.sha256 == wheel_of(hub)
    run = open_run(folder.path)
    same = judge(run, run.summary(), Limits(max_drop=0.0, baseline=found))
    assert same.outcomes[0].passed
    assert same.comparison is not None
    assert (same.comparison.examples.compared, same.comparison.difference) == (2, 0.0)


def test_what_the_official_client_pushed_is_a_baseline(tmp_path: Path) -> None:
    hub = open_hub(tmp_path / "hub")
    hub.environments.resolve(ResolveRequest("wordle"))
    reference = EnvironmentReference("ada/wordle")
    made = hub.evaluations.create(EvaluationRequest("a run", [reference], model_name="large"))
    samples = [{"example_id": i, "reward": 1.0, "prompt": ASKED, "answer": "a"} for i in range(3)]
    hub.evaluations.push(made.evaluation_id, samples)
    found = read_baseline(made.evaluation_id, tmp_path, lambda: hub)
    assert (found.model, found.sha256) == ("large", None)
    assert [example.rewards for example in found.examples.values()] == [[1.0]] * 3


def test_what_is_nowhere_is_named(tmp_path: Path) -> None:
    hub = open_hub(tmp_path / "hub")
    with pytest.raises(NotFound, match="no run `zz` here and no such evaluation"):
        read_baseline("zz", tmp_path, lambda: hub)
