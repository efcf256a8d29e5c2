import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.export.records import find_columns
from prime_cli.runs.export.spreadsheet import disarm, header, record, write_spreadsheet
from prime_cli.runs.export.text import as_text, well_formed
from prime_cli.runs.rows import Row
from tests.runs.export.hostile import hostile_rows, texts
from tests.runs.rows import row

csv.field_size_limit(1 << 30)


_ARMED = re.compile(r"'[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def arm(cell: str) -> str:
    """The text that a cell stands for, as a program reads it."""
    return cell[1:] if _ARMED.match(cell) else cell


def written(*rows: Row) -> bytes:
    file = io.BytesIO()
    write_spreadsheet(file, rows, find_columns(rows))
    return file.getvalue()


def records(*rows: Row) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(*rows).decode(), newline="")))


@given(st.lists(hostile_rows(), max_size=3))
def test_every_text_comes_back(rows: list[Row]) -> None:
    columns = find_columns(rows)
    read = list(csv.reader(io.StringIO(written(*rows).decode(), newline="")))
    assert [arm(name) for name in read[0]] == header(columns)
    for line, given_row in zip(read[1:], rows, strict=True):
        for cell, value in zip(line, record(given_row, columns), strict=True):
            if isinstance(value, str):
                assert arm(cell) == well_formed(value)
            elif not isinstance(value, bool | int | float):
                assert arm(cell) == as_text(value)


@given(texts)
def test_disarming_loses_nothing(text: str) -> None:
    assert arm(disarm(text)) == text


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", " =1", "\r\n=1", "'=1", "\uff1d1", "''@"]
)
def test_what_a_spreadsheet_could_run_has_a_quote_before_it(text: str) -> None:
    assert disarm(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "'tis", "it's = 1"])
def test_other_texts_are_left_alone(text: str) -> None:
    assert disarm(text) == text


def test_numbers_stay_numbers() -> None:
    read = records(row(0, 0, -0.5, metrics={"gain": -2, "right": True}, answer=-7))[0]
    assert read["reward"] == "-0.5"
    assert read["metrics.gain"] == "-2"
    assert read["metrics.right"] == "true"
    assert read["answer"] == "-7"


def test_metrics_of_all_rows_are_columns_and_what_is_missing_is_empty() -> None:
    first, second = records(row(0, metrics={"a": 1.5}), row(1, 0, None, metrics={"b": "x"}))
    assert (first["metrics.a"], first["metrics.b"]) == ("1.5", "")
    assert (second["metrics.a"], second["metrics.b"]) == ("", "x")
    assert (second["reward"], second["error_type"]) == ("", "APITimeoutError")


def test_lines_end_as_rfc_4180_says_and_quotes_are_doubled() -> None:
    content = written(row(0, task='say "a",\nb'))
    assert content.count(b"\r\n") == 2
    assert b'"say ""a"",\nb"' in content


def test_a_formula_in_a_metrics_name_is_behind_its_part() -> None:
    head = written(row(0, metrics={"=1": 1.0})).decode().partition("\r\n")[0]
    assert re.search(r"(^|,)metrics\.=1(,|$)", head)
