"""A request is made of a run's manifest, and what was typed beside `--resume` stands."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.evals.planning.locate import at_version_of
from prime_cli.evals.planning.plan import EvalDefaults, make_plan
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.resume.request import manifest_of, recalled
from prime_cli.runs.manifest import Asked, Manifest
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import SavedRun
from tests.runs.saving import PLAN, save_run

RUN = msgspec.structs.replace(
    PLAN,
    num_examples=-1,
    rollouts_per_example=4,
    sampling={"max_tokens": 9, "temperature": 0.5, "top_p": 0.1},
    env_args={"level": "hard"},
    extra_args={"max_turns": 3},
    independent_scoring=True,
    concurrency=7,
    max_retries=2,
    max_error_rate=0.25,
    env_vars=("JUDGE_KEY",),
    state_columns=("turns",),
    verifiers="0.1.14",
    python="3.12",
    max_cost=3.0,
)


def manifest(**fields: Any) -> Manifest:
    told: dict[str, Any] = {"plan": RUN, "started": "2026-01-01T00:00:00+00:00"} | fields
    return Manifest(run_id="1f2e3d4c", **told)


def test_a_run_alone_gives_the_plan_that_it_had() -> None:
    request = recalled(EvalRequest(environment=""), manifest())
    assert request.environment == "ada/wordle@1.2"
    again = make_plan(
        request, RUN.environment, EvalDefaults(), model=RUN.model, endpoint=RUN.endpoint
    )
    assert again == RUN


def test_flags_beside_it_stand() -> None:
    typed = EvalRequest(environment="", num_examples=9, temperature=1.0, max_concurrent=1)
    request = recalled(typed, manifest())
    assert request.num_examples == 9
    assert request.max_concurrent == 1
    assert request.sampling == {"max_tokens": 9, "temperature": 1.0, "top_p": 0.1}


def test_the_model_is_named_as_it_was_and_a_new_place_is_not_mixed_with_the_old() -> None:
    asked = Asked(model="mine", key_var="MY_KEY", endpoints_path="/x/endpoints.toml")
    request = recalled(EvalRequest(environment=""), manifest(asked=asked))
    assert (request.model, request.key_var) == ("mine", "MY_KEY")
    assert request.endpoints_path == Path("/x/endpoints.toml")
    moved = recalled(EvalRequest(environment="", base_url="http://x/v1"), manifest(asked=asked))
    assert (moved.model, moved.base_url, moved.endpoints_path) == ("mine", "http://x/v1", None)


def test_an_environment_named_without_a_version_is_taken_at_the_one_it_had() -> None:
    before = EnvRef("ada", "wordle", "1.2")
    assert at_version_of(EnvRef("ada", "wordle"), PLAN.environment) == before
    for other in (EnvRef("ada", "wordle", "1.3"), EnvRef("bob", "wordle"), Path("wordle")):
        assert at_version_of(other, PLAN.environment) == other


def test_a_run_of_another_program_is_not_resumed(tmp_path: Path) -> None:
    folder = save_run(tmp_path)
    with pytest.raises(UsageError, match="was not written by prime"):
        manifest_of(SavedRun(folder, official={}))


def test_the_command_names_headers_whose_values_were_not_kept() -> None:
    plan = msgspec.structs.replace(PLAN, headers=("X-Team",))
    assert resume_command("1f2e3d4c", PLAN) == "prime eval run --resume 1f2e3d4c"
    assert resume_command("1f2e3d4c", plan).endswith(" --header 'X-Team: …'")
