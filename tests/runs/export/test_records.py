import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.export import dataset
from prime_cli.runs.export.dataset import write_shards
from prime_cli.runs.export.records import (
    disarm,
    find_columns,
    flat_metrics,
    header,
    messages_of,
    record,
    record_of,
    schema_of,
    write_spreadsheet,
)
from prime_cli.runs.export.text import as_text, well_formed
from prime_cli.runs.rows import Row
from tests.runs.export.hostile import hostile_rows, texts
from tests.runs.rows import row

CALL = {"id": "c1", "function": {"name": "search", "arguments": "{}"}}


@given(st.lists(hostile_rows(), max_size=3))
def test_every_row_fits_the_schema(rows: list[Row]) -> None:
    import pyarrow as pa

    columns = find_columns(rows)
    metrics = flat_metrics(columns)
    records = [record_of(each, metrics) for each in rows]
    table = pa.Table.from_pylist(records, schema=schema_of(columns))
    table.validate(full=True)
    assert table.column("example_id").to_pylist() == [each.example_id for each in rows]


def test_the_schema_is_the_same_whatever_the_rows_hold() -> None:
    one = schema_of(find_columns([row(0, prompt="a", info={"a": 1})]))
    other = schema_of(find_columns([row(0, 1, prompt=[], info="x", usage={"input": 1})]))
    assert one == other


def test_messages_have_one_shape_and_lose_nothing() -> None:
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}]
    spoken = {"role": "user", "content": content, "weight": 1}
    called = {"role": "assistant", "content": None, "tool_calls": [CALL, json.dumps(CALL)]}
    user, assistant = messages_of([spoken, called]) or []
    assert (user["role"], user["content"]) == ("user", "see")
    assert json.loads(user["extra"]) == {"weight": 1, "content": content}
    assert [json.loads(call) for call in assistant["tool_calls"]] == [CALL, CALL]
    assert assistant["content"] is assistant["extra"] is None


def test_a_prompt_that_is_a_text_is_one_message() -> None:
    (message,) = messages_of("once upon") or []
    assert (message["role"], message["content"]) == ("text", "once upon")
    assert messages_of(None) is None


def test_metrics_are_columns_as_in_vf_eval_unless_the_name_is_taken() -> None:
    columns = find_columns([row(0, metrics={"format": 1, "reward": 0.5, "note": "x"})])
    assert flat_metrics(columns) == ["format"]
    record = record_of(row(0, metrics={"format": 1, "reward": 0.5, "note": "x"}), ["format"])
    assert (record["format"], record["reward"]) == (1.0, 1.0)
    assert json.loads(record["metrics"]) == {"format": 1, "reward": 0.5, "note": "x"}


def test_an_error_has_no_reward_and_tokens_are_named_as_in_vf_eval() -> None:
    record = record_of(row(0, 0, None, usage={"input": 3, "output": 4, "calls": 1}), [])
    assert record["reward"] is None
    assert record["error"]["class"] == "infra"
    assert record["is_completed"] is False
    assert record["token_usage"] == {"input_tokens": 3, "output_tokens": 4}


def test_shards_are_named_by_number_and_of_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "ROWS_IN_A_GROUP", 2)
    monkeypatch.setattr(dataset, "BYTES_IN_A_SHARD", 1)
    rows = [row(example) for example in range(5)]
    written = write_shards(tmp_path, rows, find_columns(rows))
    assert [path.name for path in written] == [
        f"train-0000{at}-of-00003.parquet" for at in (0, 1, 2)
    ]
    assert sorted(tmp_path.iterdir()) == written
    assert [pq.read_metadata(path).num_rows for path in written] == [2, 2, 1]


def test_row_groups_end_by_their_size_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "BYTES_IN_A_GROUP", 1000)
    rows = [row(example, completion="a" * 600) for example in range(4)]
    (path,) = write_shards(tmp_path, rows, find_columns(rows))
    assert pq.read_metadata(path).num_row_groups == 2


def test_a_run_without_rollouts_is_one_empty_shard(tmp_path: Path) -> None:
    (path,) = write_shards(tmp_path, [], find_columns([]))
    assert pq.read_metadata(path).num_rows == 0


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
