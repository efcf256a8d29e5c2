import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.runs.index.results_index import ResultsIndex
from tests.runs.official_rows import read_official_rows

LINES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"example_id": st.integers(0, 3), "reward": st.floats(0, 1)}),
        st.fixed_dictionaries({"example_id": st.integers(0, 3), "error": st.just("broke")}),
        st.just("no object"),
    ),
    max_size=8,
)


def written(folder: Path, lines: list[Any]) -> Path:
    path = folder / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.integers(0, 30))
def test_each_row_is_read_from_its_place(tmp_path: Path, lines: list[Any], torn: int) -> None:
    path = written(tmp_path, lines)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - torn])
    rows = list(read_official_rows(path, {}))
    index = ResultsIndex(path, {})
    assert list(index.read(range(len(index)))) == rows
    assert list(index.rows()) == sorted(rows, key=lambda row: (row.example_id, row.rollout))


def test_rewards_and_errors_are_known_without_reading_a_row(tmp_path: Path) -> None:
    lines = [{"example_id": 0, "reward": 0.5}, {"example_id": 1, "reward": 0.0, "error": "broke"}]
    entries = ResultsIndex(written(tmp_path, lines), {}).entries
    assert [entry.reward for entry in entries] == [0.5, None]
    assert [entry.error for entry in entries] == [None, "environment"]


def test_a_file_that_grew_is_read_again(tmp_path: Path) -> None:
    index = ResultsIndex(written(tmp_path, [{"example_id": 0, "reward": 0.5}]), {})
    assert index.refresh() == 0
    written(tmp_path, [{"example_id": n, "reward": n} for n in range(3)])
    assert index.refresh() == 2
    assert [row.reward for row in index.rows()] == pytest.approx([0, 1, 2])
