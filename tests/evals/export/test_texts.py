import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.evals.export.texts import as_json, as_text, well_formed
from prime_cli.runs.rows import Row
from tests.evals.export.hostile import hostile_rows, texts


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
def test_what_is_no_text_is_its_json(value: Any, text: str) -> None:
    assert as_text(value) == text
