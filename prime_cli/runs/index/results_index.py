"""The same of vf-eval's results.jsonl, beside which no index lies: made by reading it once."""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.runs.index.entries import Entries, Entry, packed
from prime_cli.runs.index.run_index import RunIndex
from prime_cli.runs.rows import Row
from prime_cli.runs.vf_eval_reader import (
    decode_object,
    number_of_examples,
    number_rows,
    read_objects,
    row_of_line,
)


class ResultsIndex(RunIndex):
    """Where the rows of a results.jsonl lie; `metadata` is the object in its metadata.json."""

    def __init__(self, path: Path, metadata: Mapping[str, Any]) -> None:
        super().__init__(path, Entries())
        self._metadata = metadata
        self._size = -1
        self.refresh()

    def decode(self, line: bytes, number: int, entry: Entry) -> Row:
        value = decode_object(line)
        if value is None:
            raise UsageError(f"{self.path} was written anew while it was read", hint="try again")
        return self.read_value(value, entry)

    def read_value(self, value: dict[str, Any], entry: Entry) -> Row:
        """The row of the object on a line."""
        return row_of_line(value, entry.example_id, entry.rollout)

    def number(self, values: Iterator[dict[str, Any]]) -> Iterator[Row]:
        """The rows of the objects on all lines, which are read as the rows are asked for."""
        examples = number_of_examples(
            self._metadata, lambda: sum(1 for _ in read_objects(self.path))
        )
        return number_rows(values, examples)

    def refresh(self) -> int:
        with storage_errors(self.path):
            size = self.path.stat().st_size
        if size == self._size:
            return 0
        known, self._size = len(self.entries), size
        self.entries = Entries(b"".join(self._records()))
        self.__dict__.pop("latest", None)
        return len(self.entries) - known

    def _records(self) -> Iterator[bytes]:
        place = (0, 0)

        def objects() -> Iterator[dict[str, Any]]:
            nonlocal place
            for offset, length, value in read_objects(self.path):
                place = offset, length
                yield value

        # A row is numbered before the line after it is read: `place` is that of its own.
        for row in self.number(objects()):
            kind = row.error.kind if row.error else None
            key = row.example_id, row.rollout, row.attempt
            try:
                yield packed(*place, *key, row.reward, kind, row.is_truncated)
            except struct.error as error:
                raise UsageError(f"{self.path} has a rollout numbered {key}") from error
