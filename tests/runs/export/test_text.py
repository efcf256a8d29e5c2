import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.export.text import as_json, as_text, parts_of, spent_of, well_formed
from prime_cli.runs.rows import Row
from tests.runs.export.hostile import hostile_rows, texts


@given(texts)
def test_every_text_can_be_encoded_and_the_next_time_nothing_changes(text: str) -> None:
    well_formed(text).encode()
    assert well_formed(well_formed(text)) == well_formed(text)


@given(st.text())
def test_sound_unicode_is_left_alone(text: str) -> None:
    assert well_formed(text) == text


def test_a_lone_surrogate_is_replaced_and_a_pair_is_its_character() -> None:
    assert well_formed("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert well_formed("\ud83d\ude00") == "\U0001f600"


@given(hostile_rows())
def test_every_row_is_json_on_one_line(row: Row) -> None:
    line = as_json(row)
    assert b"\n" not in line
    read = json.loads(line, parse_constant=pytest.fail)
    assert read["example_id"] == row.example_id


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("a", "a"), ({"a": [1]}, '{"a":[1]}'), (True, "true"), (2**70, str(2**70))],
)
def test_values_other_than_text_become_json(value: Any, text: str) -> None:
    assert as_text(value) == text


COUNTED = {"calls": 3, "input": 12_000, "output": 40, "cost": 0.42}


def test_counts_have_labels_and_zeros_are_omitted() -> None:
    assert spent_of(COUNTED | {"cached": 0}) == {
        "Calls": "3",
        "Input tokens": "12,000",
        "Output tokens": "40",
        "Cost": "$0.42",
    }


def test_a_cost_without_a_price_is_unknown_and_one_not_kept_is_not_shown() -> None:
    assert spent_of({"calls": 3, "cost": None, "unpriced": 3})["Cost"] == "unknown"
    assert "Cost" not in spent_of({"calls": 3})
    assert spent_of({}) == {}


def test_judges_and_each_of_several_models_are_apart() -> None:
    usage = COUNTED | {"roles": {"policy": COUNTED, "judge": COUNTED}, "models": {"m": COUNTED}}
    assert [name for name, _ in parts_of(usage)] == ["judge", "m"]
    assert parts_of(COUNTED) == []
