"""Judges compared with people's labels, and a gate that asks for it."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.gate.calibration import (
    Calibration,
    calibrate,
    judge_calibration,
    read_labels,
    save_calibration,
)
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.saved_run import open_run
from tests.evals.sharing.pushing import change_environment
from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run

COUNT = 60
JUDGED = {"judge": {"org/judge": {"calls": 1, "input": 1, "output": 1, "cost": 0.0}}}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """The judge passes every second rollout; longer answers are later ones."""
    rows = [
        row(n, reward=float(n % 2), completion="c" * (n + 1), metrics={"style": 0.9}, judges=JUDGED)
        for n in range(COUNT)
    ]
    return save_run(tmp_path, *rows, planned=COUNT)


def write_labels(cwd: Path, lines: list[str], name: str = "labels.csv") -> Path:
    path = cwd / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return path


def labels(cwd: Path, wrong: int = 6, count: int = COUNT, person: str = "ada") -> Path:
    """A person who agrees with the judge but on the first `wrong`, which the person passes."""
    said = ("pass" if n % 2 or n < wrong else "fail" for n in range(count))
    lines = [f"{n},0,{person},{each}" for n, each in enumerate(said)]
    return write_labels(cwd, ["example,rollout,person,label", *lines], f"{person}.csv")


def calibrated(run: RunFolder, cwd: Path, wrong: int = 6) -> Calibration:
    return calibrate(open_run(run.path), read_labels(labels(cwd, wrong)))


def test_a_calibration_counts_what_people_and_the_judge_said(
    run: RunFolder, tmp_path: Path
) -> None:
    found = calibrated(run, tmp_path)
    table = found.confusion
    assert (table.passes, table.false_passes) == (30, 0)
    assert (table.false_failures, table.failures) == (3, 27)
    assert found.base_rate == pytest.approx(33 / 60)
    assert found.pass_rate == pytest.approx(0.5)
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(33 / 60)
    assert found.judge.models == ("judge org/judge",)
    shorter, longer = found.biases
    assert shorter.group == "shorter"
    assert shorter.people_rate == pytest.approx(0.6)
    assert longer.people_rate == longer.judge_rate


def test_the_gate_asks_for_the_lower_end_of_kappa(run: RunFolder, tmp_path: Path) -> None:
    saved = open_run(run.path)
    assert judge_calibration(saved, tmp_path, 0.6) == (
        False,
        "its judge is not calibrated: run `prime judge calibrate`",
    )
    found = calibrated(run, tmp_path)
    save_calibration(tmp_path, found)
    assert judge_calibration(saved, tmp_path, found.kappa.low)[0]
    passed, sentence = judge_calibration(saved, tmp_path, 0.95)
    assert not passed
    assert "is 0.9, at least 0.79" in sentence


def test_a_record_is_stale_once_the_judge_has_changed(run: RunFolder, tmp_path: Path) -> None:
    save_calibration(tmp_path, calibrated(run, tmp_path))
    change_environment(run, sha256="cd" * 32)
    passed, sentence = judge_calibration(open_run(run.path), tmp_path, 0.1)
    assert not passed
    assert sentence == "its judge was calibrated before its wheel changed: calibrate it again"
    plan = msgspec.structs.replace(PLAN, env_args={"judge_prompt": "Be strict"})
    other = save_run(tmp_path, *(row(n, reward=1.0) for n in range(3)), plan=plan, planned=3)
    _, sentence = judge_calibration(open_run(other.path), tmp_path, 0.1)
    assert "before its arguments and models changed" in sentence


def test_people_who_contradict_each_other_are_decided_by_the_majority(
    run: RunFolder, tmp_path: Path
) -> None:
    files = [labels(tmp_path, wrong, person=who) for who, wrong in (("ada", 0), ("bob", 6))]
    two = [label for file in files for label in read_labels(file)]
    found = calibrate(open_run(run.path), two)
    assert (found.people, found.contradicted, found.undecided) == (("ada", "bob"), 3, 3)
    assert found.labelled == COUNT - 3
    three = [*two, *read_labels(labels(tmp_path, 6, person="eve"))]
    found = calibrate(open_run(run.path), three)
    assert (found.contradicted, found.undecided, found.confusion.false_failures) == (3, 0, 3)


def test_positions_that_labels_tell_are_told_apart(run: RunFolder, tmp_path: Path) -> None:
    lines = [
        f'{{"example": {n}, "person": "ada", "label": {n % 2 or n // 40}, "position": {1 + n % 2}}}'
        for n in range(COUNT)
    ]
    found = calibrate(open_run(run.path), read_labels(write_labels(tmp_path, lines, "l.jsonl")))
    of = {each.group: each for each in found.biases}
    assert of["position 1"].people_rate == pytest.approx(10 / 30)
    assert of["position 1"].judge_rate == 0.0
    assert of["position 2"].people_rate == of["position 2"].judge_rate == 1.0


def test_five_labels_are_too_few_and_one_kind_says_nothing(run: RunFolder, tmp_path: Path) -> None:
    saved = open_run(run.path)
    with pytest.raises(UsageError, match="Only 5 labelled rollouts: to calibrate a judge, 30"):
        calibrate(saved, read_labels(labels(tmp_path, count=5)))
    with pytest.raises(UsageError, match="All labels are the same"):
        calibrate(saved, read_labels(labels(tmp_path, wrong=COUNT)))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x,0,ada,pass", "Line 2 of .* is not a label"),
        ("1,0,ada,maybe", "Line 2 of .* is not a label"),
        ("1,0,,pass", "Line 2 of .* is not a label"),
        ("99,0,ada,pass", "rollout 0 of example 99, which has no score"),
        ("1,0,ada,pass\n1,0,ada,fail", "ada has labelled rollout 0 of example 1 twice"),
    ],
)
def test_bad_labels_are_refused(run: RunFolder, tmp_path: Path, line: str, problem: str) -> None:
    path = write_labels(tmp_path, ["example,rollout,person,label", line])
    with pytest.raises(UsageError, match=problem):
        calibrate(open_run(run.path), read_labels(path))


def test_a_file_of_labels_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        read_labels(tmp_path / "none.csv")


def test_calibrating_and_gating_as_typed(prime: Prime, run: RunFolder, tmp_path: Path) -> None:
    missed = prime("eval", "gate", run.run_id, "--require-calibrated", "0.6", cwd=tmp_path)
    assert missed.code == 1
    assert "its judge is not calibrated" in missed.err
    labels(tmp_path)
    done = prime("judge", "calibrate", run.run_id, "ada.csv", cwd=tmp_path).ok()
    assert "0.9, 95 % interval" in done.out
    prime("eval", "gate", run.run_id, "--require-calibrated", "0.6", cwd=tmp_path).ok()
    wrong = prime("eval", "gate", run.run_id, "--require-calibrated", "2", cwd=tmp_path)
    assert wrong.code == 2
