from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import PartialResult
from prime_cli.runs.comparison.sides import side_of
from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.manifest import FINISHED, RUNNING, RunManifest, load_manifest, save_manifest
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.saved_run import check_errors, open_run, summary_of
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import Summary
from prime_cli.runs.tally import Tally
from prime_cli.runtime.worker.failures import NO_TUNNEL
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run


def summary(*rows: Row) -> Summary:
    tally = Tally()
    for each in rows:
        tally.add(each)
    manifest = RunManifest(run_id="abcd", plan=PLAN, started="2026-01-01T00:00:00+00:00")
    return summary_of(RunFolder(Path("nowhere")), manifest, tally)


def allowing(rate: float) -> EvalPlan:
    return msgspec.structs.replace(PLAN, max_error_rate=rate)


def test_no_error_is_allowed_by_default() -> None:
    check_errors(summary(row(0), row(1)), PLAN)
    with pytest.raises(PartialResult, match="1 of 2 rollouts ended in an error") as raised:
        check_errors(summary(row(0), row(1, reward=None)), PLAN)
    assert "`prime eval run --resume abcd`" in (raised.value.hint or "")


def test_errors_that_a_resume_keeps_are_asked_again_only_by_a_flag() -> None:
    refused = Failure("model", "BadRequestError", "Too long")
    with pytest.raises(PartialResult) as raised:
        check_errors(summary(row(0), row(1, reward=None, error=refused)), PLAN)
    assert (raised.value.hint or "").endswith(
        "`prime eval run --resume abcd --retry-errors` asks the model again; without the flag, "
        "such errors stay"
    )


def test_saved_answers_on_which_the_code_fails_are_not_offered_to_it_unchanged() -> None:
    raised = Failure("environment", "RewardFailed", "KeyError", in_scoring=True)
    answer = [{"role": "assistant", "content": "Paris"}]
    failed = row(1, reward=None, error=raised, completion=answer)
    with pytest.raises(PartialResult) as found:
        check_errors(summary(row(0), failed, row(2, reward=None)), PLAN)
    hint = found.value.hint or ""
    assert "`prime eval run --resume abcd` asks again for 1 without an answer; " in hint
    assert hint.endswith(
        "the environment's code fails on 1 saved answer: correct it, and score them with "
        "`prime eval rescore abcd --environment PATH`"
    )


def test_a_module_in_the_folder_is_not_a_package_to_install(tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("", encoding="utf-8")
    absent = Failure("environment", "ModuleNotFoundError", "No module named 'sklearn'")
    environment = msgspec.structs.replace(PLAN.environment, path=str(tmp_path))
    plan = msgspec.structs.replace(PLAN, environment=environment)
    with pytest.raises(PartialResult) as found:
        check_errors(summary(row(0, reward=None, error=absent)), plan)
    assert "scikit-learn" not in (found.value.hint or "")
    assert "in pyproject.toml" in (found.value.hint or "")


def test_what_prime_does_not_have_is_never_asked_again() -> None:
    tunnel = Failure("environment", "TunnelError", f"{NO_TUNNEL}: refused")
    with pytest.raises(PartialResult) as found:
        check_errors(summary(row(0), row(1, reward=None, error=tunnel)), PLAN)
    hint = found.value.hint or ""
    assert "--retry-errors" not in hint
    assert hint.endswith("1 need a tunnel or an image that cannot be had, and stay")


def test_a_share_up_to_the_limit_is_allowed() -> None:
    half = summary(row(0), row(1, reward=None))
    check_errors(half, allowing(0.5))
    with pytest.raises(PartialResult, match="above the limit of 49%"):
        check_errors(half, allowing(0.49))


def test_nothing_finished_is_not_an_error() -> None:
    check_errors(summary(), PLAN)


def test_all_that_is_read_of_a_saved_run_is_of_one_moment(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, attempt=2), status=RUNNING)
    saved = open_run(folder.path)
    with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
        assert saved.summary().counts.scored == 1
        journal.append(row(1, attempt=2))
        later = saved.renewed()
        seen = []
        for each in (saved, later):
            asked_again = each.asked_again()
            assert asked_again is not None
            side = side_of(each)
            seen.append((each.summary().counts.scored, len(list(each.rows())), side.rollouts))
            assert (asked_again.rollouts, side.asked_again) == (seen[-1][0], asked_again)
    assert seen == [(1, 1, 1), (2, 2, 2)]
    assert (saved.status, later.status) == ("stopped", RUNNING)


def test_a_run_that_ends_while_it_is_opened_is_not_called_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")  # Windows has other locks
    folder = save_run(tmp_path, status=RUNNING)
    folder.lock.touch()
    ended = msgspec.structs.replace(load_manifest(folder.manifest), status=FINISHED)
    flock = fcntl.flock

    def end_before(descriptor: int, how: int) -> None:
        save_manifest(folder.manifest, ended, Scrubber({}))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", end_before)

    assert open_run(folder.path).status == FINISHED
