"""Judges compared with people's labels, and a gate that asks for it."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.gate.calibration import (
    Calibration,
    calibrate,
    identify_judge,
    judge_calibration,
    judge_trust,
    known_trust,
    save_calibration,
)
from prime_cli.evals.gate.labels import read_labels, save_label
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import InterpreterFacts, load_manifest, save_manifest
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.protocol import JudgeInfo
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


def change_manifest(run: RunFolder, **changes: object) -> None:
    manifest = msgspec.structs.replace(load_manifest(run.manifest), **changes)
    save_manifest(run.manifest, manifest, Scrubber({}))


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


JUDGES = (JudgeInfo(model="org/judge", prompt="p1", sampling="s1"),)


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"prompt": "p2"}, "prompts"),
        ({"sampling": "s2"}, "sampling"),
        ({"model": "org/other"}, "models"),
        ({"prompt": "p2", "sampling": "s2"}, "prompts and sampling"),
    ],
)
def test_a_record_is_stale_once_what_the_environment_declares_has_changed(
    run: RunFolder, tmp_path: Path, after: dict[str, str], told: str
) -> None:
    change_manifest(run, judges=JUDGES)
    save_calibration(tmp_path, calibrated(run, tmp_path))
    assert judge_calibration(open_run(run.path), tmp_path, 0.1)[0]
    change_manifest(run, judges=(msgspec.structs.replace(JUDGES[0], **after),))
    passed, sentence = judge_calibration(open_run(run.path), tmp_path, 0.1)
    assert not passed
    assert f"before its {told} changed" in sentence


def test_a_record_is_stale_with_another_release_of_verifiers_if_both_are_known(
    run: RunFolder, tmp_path: Path
) -> None:
    save_calibration(tmp_path, calibrated(run, tmp_path))
    facts = InterpreterFacts(python="3.11", verifiers="0.1.14", generation="v0")
    change_manifest(run, interpreter=facts, judges=JUDGES)
    assert judge_calibration(open_run(run.path), tmp_path, 0.1)[0]
    save_calibration(tmp_path, calibrated(run, tmp_path))
    change_manifest(run, interpreter=msgspec.structs.replace(facts, verifiers="0.1.15"))
    _, sentence = judge_calibration(open_run(run.path), tmp_path, 0.1)
    assert "before its release of verifiers changed" in sentence


def test_a_judge_that_is_asked_outside_any_rollout_is_known(tmp_path: Path) -> None:
    """As by a rubric that scores a group at once."""
    folder = save_run(tmp_path, row(0), row(1, apart=JUDGED), planned=2)
    saved = open_run(folder.path)
    assert saved.manifest is not None
    assert identify_judge(saved.manifest, saved.charges()).models == ("judge org/judge",)


def trust(run: RunFolder, cwd: Path) -> list[str]:
    saved = open_run(run.path)
    assert saved.manifest is not None
    return judge_trust(saved.manifest, saved.charges(), saved.index.rewards(), cwd)


def test_a_run_says_how_far_its_judge_can_be_trusted(run: RunFolder, tmp_path: Path) -> None:
    (never,) = trust(run, tmp_path)
    assert "was never compared with people" in never
    assert known_trust(open_run(run.path), tmp_path) == (), "there is nothing to tell others"
    save_calibration(tmp_path, calibrated(run, tmp_path))
    (told,) = trust(run, tmp_path)
    assert known_trust(open_run(run.path), tmp_path) == (told,)
    assert told == (
        "The judge of `reward` agrees with people to a kappa of 0.9 (0.79 to 1), by 60 labelled "
        "rollouts; of the rollouts here people would pass 55% (39.9% to 70.1%)"
    )
    # The same judge of other answers: its errors correct another rate.
    rows = (row(n, reward=float(n < 4), judges=JUDGED) for n in range(40))
    (other,) = trust(save_run(tmp_path, *rows, planned=40), tmp_path)
    assert "people would pass 11% (" in other
    change_environment(run, sha256="cd" * 32)
    (stale,) = trust(run, tmp_path)
    assert stale == "The judge of `reward` was compared with people before its wheel changed"


def test_a_run_without_a_judge_says_nothing_of_one(tmp_path: Path) -> None:
    assert trust(save_run(tmp_path, row(0)), tmp_path) == []


def test_people_are_compared_with_each_other(run: RunFolder, tmp_path: Path) -> None:
    files = [labels(tmp_path, wrong, person=who) for who, wrong in (("ada", 0), ("bob", 6))]
    files.append(labels(tmp_path, 0, count=1, person="eve"))
    told = [label for file in files for label in read_labels(file)]
    found = calibrate(open_run(run.path), told)
    assert found.contradictions == ((0, 0), (2, 0), (4, 0))
    ada_bob, ada_eve, bob_eve = found.between
    assert (ada_bob.people, ada_bob.both, ada_bob.agreed) == (("ada", "bob"), 60, 57)
    assert ada_bob.kappa == pytest.approx(0.9)
    assert (ada_eve.both, ada_eve.agreed, ada_eve.kappa) == (1, 1, None)
    assert (bob_eve.both, bob_eve.agreed, bob_eve.kappa) == (1, 0, 0.0)


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
    counts = JUDGED["judge"]["org/judge"]
    change_manifest(run, usage=counts | {"roles": {"judge": counts}})
    shown = prime("eval", "show", run.run_id, cwd=tmp_path).ok()
    assert "agrees with people to a kappa of 0.9" in shown.err


def test_labels_of_the_pages_are_found_and_contradictions_named(
    prime: Prime, run: RunFolder, tmp_path: Path
) -> None:
    missing = prime("judge", "calibrate", run.run_id, cwd=tmp_path)
    assert missing.code == 6
    assert f"prime judge label {run.run_id}" in missing.err
    for person, wrong in (("ada", 0), ("bob", 4)):
        for label in read_labels(labels(tmp_path, wrong, person=person)):
            save_label(run, label)
    done = prime("judge", "calibrate", run.run_id, cwd=tmp_path).ok()
    assert "0.0 and 2.0; 2 of 2 left out as a tie" in done.out
    assert "agree on 58 of 60, kappa 0.933" in done.out
