"""Labels by people: the order they are asked for in, and the file in the run's folder."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.gate.labels import (
    PersonLabel,
    check_person,
    labelling_order,
    labels_of,
    read_labels,
    save_label,
    saved_labels,
)
from prime_cli.runs.saved_run import open_run
from tests.runs.rows import row
from tests.runs.saving import save_run

EVERY = [(n, m) for n in range(20) for m in range(2)]


def test_the_order_is_random_the_same_each_time_and_another_for_each_person() -> None:
    order = labelling_order("run1", "ada", EVERY)
    assert order == labelling_order("run1", "ada", reversed(EVERY))
    others = [labelling_order(run, who, EVERY) for run, who in (("run1", "bob"), ("run2", "ada"))]
    assert all(sorted(each) == EVERY for each in (order, *others))
    assert len({tuple(each) for each in (order, EVERY, *others)}) == 4


def test_rollouts_that_come_later_leave_the_order_of_the_others() -> None:
    before = set(EVERY[:25])
    grown = [each for each in labelling_order("run1", "ada", EVERY) if each in before]
    assert grown == labelling_order("run1", "ada", before)


def test_a_label_takes_the_place_of_an_earlier_one_by_the_same_person(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), row(1))
    for person, example, passes in (("ada", 0, True), ("bob", 0, True), ("ada", 0, False)):
        save_label(folder, PersonLabel((example, 0), person, passes))
    bob, ada = PersonLabel((0, 0), "bob", True), PersonLabel((0, 0), "ada", False)
    assert saved_labels(folder) == [bob, ada]
    assert folder.labels.read_text(encoding="utf-8").splitlines()[0] == (
        '{"example":0,"rollout":0,"person":"bob","label":"pass"}'
    )
    save_label(folder, PersonLabel((1, 0), "eve", True, "2"))
    assert read_labels(folder.labels) == [bob, ada, PersonLabel((1, 0), "eve", True, "2")]


def test_people_who_label_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0))
    labels = [PersonLabel((n, 0), who, True) for n in range(20) for who in ("ada", "bob")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: save_label(folder, each), labels))
    assert sorted(saved_labels(folder), key=str) == sorted(labels, key=str)


def test_a_rescored_run_has_the_labels_of_the_answers_that_it_scored(tmp_path: Path) -> None:
    before = save_run(tmp_path, row(0))
    after = open_run(save_run(tmp_path, row(0), rescored_of=before.run_id).path)
    with pytest.raises(NotFound, match="Nobody has labelled"):
        labels_of(after, tmp_path)
    label = PersonLabel((0, 0), "ada", True)
    save_label(before, label)
    assert labels_of(after, tmp_path) == [label]
    own = PersonLabel((0, 0), "bob", False)
    save_label(after.folder, own)
    assert labels_of(after, tmp_path) == [own]


@pytest.mark.parametrize("name", ["", "  ", "a/b", "..", "a\nb", "x" * 81])
def test_what_cannot_be_the_name_of_a_person_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        check_person(name)
    assert check_person(" Ada L. ") == "Ada L."
