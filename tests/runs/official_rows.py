"""The rows of vf-eval's results.jsonl read one after the other, without an index."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import number_of_examples, number_rows, read_objects


def read_official_rows(results: Path, metadata: Mapping[str, Any]) -> Iterator[Row]:
    """What `number_rows` makes of the lines that are JSON objects."""
    lines = [line for _, _, line in read_objects(results)]
    return number_rows(lines, number_of_examples(metadata, lambda: len(lines)))
