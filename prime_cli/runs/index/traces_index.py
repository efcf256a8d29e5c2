"""The same of the v1 evaluator's traces.jsonl: a line is an episode."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prime_cli.runs.index.entries import Entry
from prime_cli.runs.index.results_index import ResultsIndex
from prime_cli.runs.rows import Row
from prime_cli.runs.v1_reader import number_episodes, row_of_episode


class TracesIndex(ResultsIndex):
    """Where the episodes of a traces.jsonl lie."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, {})

    def read_value(self, value: dict[str, Any], entry: Entry) -> Row:
        return row_of_episode(value, entry.example_id, entry.rollout)

    def number(self, values: Iterator[dict[str, Any]]) -> Iterator[Row]:
        return number_episodes(values)
