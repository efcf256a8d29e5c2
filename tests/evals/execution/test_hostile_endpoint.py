"""Runs of a real verifiers from plan to summary, where endpoint or environment make trouble."""

from pathlib import Path

import pytest

from prime_cli.evals.execution.run import EvalResult
from prime_cli.runs.plan import Deadlines
from tests.evals.execution.hostile_endpoint import seed_of_today, sometimes_wrong
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.hostile_model import Hostile
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel

pytestmark = pytest.mark.network  # the shared venv may have to be made


def rewards(result: EvalResult) -> dict[str, list[float | None]]:
    return {name: list(values) for name, values in result.summary.rollouts.items()}


def test_a_run_scores_as_against_a_calm_endpoint(tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, ECHO)
    hostile = Hostile(seed_of_today(), calm=sometimes_wrong)
    with ScriptedModel(hostile) as model:
        # A rollout may meet two hangs; `prime eval run` tries a hanging call once more only.
        result = run_live(
            tmp_path,
            interpreter,
            model.url,
            num_examples=9,
            max_retries=5,
            deadlines=Deadlines(call=5),
        )
    print(f"the endpoint: {dict(hostile.met)}")
    assert (result.summary.counts.scored, result.summary.counts.errored) == (18, 0)
    right = [0.0 if n % 3 == 0 else 1.0 for n in range(9)]
    assert rewards(result) == {"r1": right, "r2": right}


def blocking(how: str) -> str:
    return ECHO.replace(
        "        return float", f"        if answer == 'say 1': {how}\n        return float"
    ).replace("import verifiers", "import itertools, time\nimport verifiers")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["time.sleep(600)", "sum(itertools.repeat(0))"])
def test_a_reward_function_that_blocks_costs_its_own_rollout_only(how: str, tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, blocking(how))
    with ScriptedModel() as model:
        result = run_live(
            tmp_path,
            interpreter,
            model.url,
            num_examples=4,
            rollouts_per_example=1,
            deadlines=Deadlines(scoring=5),
        )
    assert (result.summary.counts.scored, result.summary.counts.errored) == (3, 1)
    assert [error.kind for error in result.summary.errors] == ["environment"]
    assert result.summary.reward.mean == 1.0
