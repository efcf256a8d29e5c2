"""Answers of earlier sessions that are scored again, as the worker or the gateway is given them."""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from prime_cli.core.paths import storage_errors
from prime_cli.models.endpoints import REPLAY
from prime_cli.models.gateway.replay import Recorded
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.index.run_index import index_journal
from prime_cli.runs.rows import Row
from prime_cli.runs.tally import Pair

_KEPT = 64
"""Rollouts that are kept in memory, for the next of their turns."""


class SavedAnswers:
    """The last attempts at `pairs` in the journal of `folder`; one row is in memory at a time.

    For the gateway it is a Recording: an environment of v1 goes through the saved turns once more.
    """

    def __init__(self, folder: RunFolder, pairs: Collection[Pair]) -> None:
        self.model = f"{REPLAY}{folder.run_id}"
        self._folder = folder
        self._index = index_journal(folder.journal)
        found = ((pair, self._index.find(*pair)) for pair in sorted(pairs))
        self._places = {pair: number for pair, number in found if number is not None}
        self.path = folder.saved.absolute()
        self.find = lru_cache(_KEPT)(self._find)

    def row(self, example: int, rollout: int) -> Row | None:
        """What the journal has of a rollout, None where that is not scored again."""
        number = self._places.get((example, rollout))
        return None if number is None else self._index.read_row(number)

    def write(self) -> None:
        """Put them where the worker reads them; raises StorageFailed."""
        encoder = msgspec.json.Encoder()
        with storage_errors(self._folder.path), self._folder.saved.open("wb") as file:
            for row in self._index.read(list(self._places.values())):
                file.write(encoder.encode(saved_line(row)) + b"\n")

    def remove(self) -> None:
        """Take them away again; raises StorageFailed."""
        with storage_errors(self._folder.path):
            self._folder.saved.unlink(missing_ok=True)

    def _find(self, example: int, rollout: int) -> Recorded | None:
        row = self.row(example, rollout)
        if row is None:
            return None
        was_cut = row.is_truncated and row.stop_condition != "prompt_too_long"
        return Recorded(row.prompt, row.completion, None, was_cut)


class SavedLine(msgspec.Struct, frozen=True):
    """What the worker is given of a rollout; its side is `runtime/worker/saved.py`."""

    example_id: int
    rollout: int
    prompt: object
    completion: object
    stop_condition: str | None
    is_truncated: bool
    state: dict[str, object]


def saved_line(row: Row) -> SavedLine:
    """What the worker scores `row` by."""
    return SavedLine(
        row.example_id,
        row.rollout,
        row.prompt,
        row.completion,
        row.stop_condition,
        row.is_truncated,
        row.state,
    )
