"""Which saved run a plan goes on with."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.evals.planning.locate import EvalDefaults, at_version_of
from prime_cli.evals.planning.prepare import make_plan
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.resume.candidates import (
    interrupted_run,
    newest_run,
    request_of_run,
    resumable_manifest,
    scored_of,
)
from prime_cli.runs.folder import RunFolder, runs_folder, writing
from prime_cli.runs.manifest import (
    CAPPED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    RUNNING,
    ModelFlags,
    RunManifest,
)
from prime_cli.runs.plan import EvalPlan, resume_command
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runs.summary import Counts
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run

SCORED = Counts(4, 4, 0, 0)


def changed(**fields: Any) -> EvalPlan:
    return msgspec.structs.replace(PLAN, **fields)


def save(
    cwd: Path, day: int, status: str, *rows: Row, counts: Counts | None = None, **plan: Any
) -> RunFolder:
    started = f"2026-01-{day:02}T00:00:00+00:00"
    told = {"status": status, "started": started, "counts": counts, "plan": changed(**plan)}
    return save_run(cwd, *(rows or (row(0),)), **told)


@pytest.mark.parametrize("status", [INTERRUPTED, FAILED, CAPPED, RUNNING])
def test_the_newest_unfinished_run_of_the_very_plan_is_offered(status: str, tmp_path: Path) -> None:
    save(tmp_path, 1, INTERRUPTED)
    newer = save(tmp_path, 2, status, row(0), row(0, 1), row(1, 0, None))
    save(tmp_path, 3, FINISHED, counts=SCORED)
    save(tmp_path, 4, INTERRUPTED, sampling={"temperature": 1})
    save(tmp_path, 5, INTERRUPTED, num_examples=1)
    found = interrupted_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == newer
    assert scored_of(found) == (2, 4)


def test_a_live_run_or_one_without_results_is_not_offered(tmp_path: Path) -> None:
    going_on = save(tmp_path, 1, RUNNING)
    empty = save(tmp_path, 2, FAILED)
    empty.journal.write_bytes(b"")
    with writing(going_on):
        assert interrupted_run(PLAN, tmp_path) is None
        assert newest_run(PLAN, tmp_path) is None


def test_without_a_name_an_unfinished_run_comes_before_a_newer_complete_one(
    tmp_path: Path,
) -> None:
    unfinished = save(tmp_path, 1, INTERRUPTED)
    complete = save(tmp_path, 2, FINISHED, counts=SCORED)
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == unfinished
    unfinished.manifest.unlink()
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == complete


def test_a_finished_run_with_errors_has_something_left(tmp_path: Path) -> None:
    save(tmp_path, 1, FINISHED, counts=SCORED)
    errored = save(tmp_path, 2, FINISHED, counts=Counts(4, 3, 1, 0))
    save(tmp_path, 3, FINISHED, counts=SCORED)
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == errored


@pytest.mark.parametrize("grown", [{"num_examples": 9}, {"rollouts_per_example": 3}])
def test_the_newest_finished_run_grows(grown: dict[str, Any], tmp_path: Path) -> None:
    save(tmp_path, 1, FINISHED, counts=SCORED)
    newest = save(tmp_path, 2, FINISHED, counts=SCORED)
    found = newest_run(changed(**grown), tmp_path)
    assert found is not None
    assert found.folder == newest


def test_a_complete_run_comes_before_a_smaller_one_that_could_grow(tmp_path: Path) -> None:
    complete = save(tmp_path, 1, FINISHED, counts=SCORED)
    save(tmp_path, 2, INTERRUPTED, rollouts_per_example=1)
    save(tmp_path, 3, FINISHED, counts=SCORED, rollouts_per_example=1)
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == complete


def test_a_larger_run_is_not_taken_for_a_smaller_plan(tmp_path: Path) -> None:
    save(tmp_path, 1, INTERRUPTED, num_examples=9)
    assert newest_run(PLAN, tmp_path) is None


def test_an_unfinished_run_of_other_content_comes_last(tmp_path: Path) -> None:
    other = msgspec.structs.replace(PLAN.environment, sha256="cd" * 32)
    save(tmp_path, 1, INTERRUPTED, environment=other)
    save(tmp_path, 2, FINISHED, environment=other)
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.manifest is not None
    assert found.manifest.started.startswith("2026-01-01")
    same = save(tmp_path, 1, INTERRUPTED)
    found = newest_run(PLAN, tmp_path)
    assert found is not None
    assert found.folder == same


def test_a_run_that_scores_what_another_has_saved_is_neither_offered_nor_resumed(
    tmp_path: Path,
) -> None:
    folder = save_run(tmp_path, row(0), status=INTERRUPTED, rescored_of="1f2e3d4c")
    assert interrupted_run(PLAN, tmp_path) is None
    assert newest_run(PLAN, tmp_path) is None
    with pytest.raises(UsageError, match="cannot be resumed"):
        resumable_manifest(open_run(folder.path))


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


def manifest(**fields: Any) -> RunManifest:
    told: dict[str, Any] = {"plan": RUN, "started": "2026-01-01T00:00:00+00:00"} | fields
    return RunManifest(run_id="1f2e3d4c", **told)


def test_a_run_alone_gives_the_plan_that_it_had() -> None:
    request = request_of_run(EvalRequest(environment=""), manifest())
    assert request.environment == "ada/wordle@1.2"
    again = make_plan(
        request, RUN.environment, EvalDefaults(), model=RUN.model, endpoint=RUN.endpoint
    )
    assert again == RUN


def test_flags_beside_it_stand() -> None:
    typed = EvalRequest(environment="", num_examples=9, temperature=1.0, max_concurrent=1)
    request = request_of_run(typed, manifest())
    assert request.num_examples == 9
    assert request.max_concurrent == 1
    assert request.sampling == {"max_tokens": 9, "temperature": 1.0, "top_p": 0.1}


def test_the_model_is_named_as_it_was_and_a_new_place_is_not_mixed_with_the_old() -> None:
    asked = ModelFlags(model="mine", key_var="MY_KEY", endpoints_path="/x/endpoints.toml")
    request = request_of_run(EvalRequest(environment=""), manifest(asked=asked))
    assert (request.model, request.key_var) == ("mine", "MY_KEY")
    assert request.endpoints_path == Path("/x/endpoints.toml")
    moved = request_of_run(
        EvalRequest(environment="", base_url="http://x/v1"), manifest(asked=asked)
    )
    assert (moved.model, moved.base_url, moved.endpoints_path) == ("mine", "http://x/v1", None)


def test_an_environment_named_without_a_version_is_taken_at_the_one_it_had() -> None:
    before = EnvRef("ada", "wordle", "1.2")
    assert at_version_of(EnvRef("ada", "wordle"), PLAN.environment) == before
    for other in (EnvRef("ada", "wordle", "1.3"), EnvRef("bob", "wordle"), Path("wordle")):
        assert at_version_of(other, PLAN.environment) == other


def test_a_run_of_another_program_is_not_resumed(tmp_path: Path) -> None:
    folder = save_run(tmp_path)
    with pytest.raises(UsageError, match="was not written by prime"):
        resumable_manifest(SavedRun(folder, official={}))


def test_the_command_names_headers_whose_values_were_not_kept() -> None:
    plan = msgspec.structs.replace(PLAN, headers=("X-Team",))
    assert resume_command("1f2e3d4c", PLAN) == "prime eval run --resume 1f2e3d4c"
    assert resume_command("1f2e3d4c", plan).endswith(" --header 'X-Team: …'")
    within = plan.with_option("training", "abcd1234")
    assert resume_command("1f2e3d4c", within) == "prime train --resume abcd1234"


def test_runs_of_another_output_folder_are_found_there_alone(tmp_path: Path) -> None:
    elsewhere = changed(options={"output_dir": "out"})
    save(tmp_path, 1, INTERRUPTED)
    assert newest_run(elsewhere, tmp_path) is None
    parent = runs_folder(PLAN.environment.name, PLAN.model, tmp_path, "out")
    assert parent.parent == tmp_path / "out" / "evals"
    kept = tmp_path / "outputs" / "evals" / parent.name
    saved = save(tmp_path, 2, INTERRUPTED, options={"output_dir": "out"})
    parent.mkdir(parents=True)
    saved.path.rename(parent / saved.path.name)
    assert len(list(kept.iterdir())) == 1
    found = newest_run(elsewhere, tmp_path)
    assert found is not None
    assert found.folder.path == parent / saved.path.name
    command = resume_command(found.folder.run_id, elsewhere)
    assert command == f"prime eval run --resume {found.folder.run_id} --output-dir out"
