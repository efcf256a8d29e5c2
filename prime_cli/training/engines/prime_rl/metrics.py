"""The metrics that prime-rl's processes append to one file, as those of a training here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_NAMES = {
    "train/agg/effective/reward/mean": "reward",
    "reward/all/mean": "reward",
    "loss/mean": "loss",
    "optim/grad_norm": "grad_norm",
    "optim/lr": "lr",
    "entropy/all/mean": "entropy",
    "mismatch_kl/all/mean": "logprob_gap",
    "train/agg/all/is_truncated/mean": "truncated",
}
"""Our names of theirs; all others are kept under `extra`."""
_OF_THE_LINE = frozenset(("step", "time"))


class MetricsFile:
    """Reads a growing file; a line counts once it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._open: dict[int, dict[str, Any]] = {}

    def steps(self, *, ended: bool = False) -> Iterator[dict[str, Any]]:
        """What is new: each step once, with the metrics of all processes that reported it.

        A step is complete when a later one begins, or the run has ended.
        """
        for line in self._lines():
            step = line.get("step")
            if isinstance(step, int) and not isinstance(step, bool):
                self._note(step, line)
        newest = max(self._open, default=0)
        for step in sorted(self._open):
            if ended or step < newest - 1:  # the trainer is a step behind the orchestrator
                yield self._open.pop(step)

    def _note(self, step: int, line: dict[str, Any]) -> None:
        known = self._open.setdefault(step, {"step": step, "extra": {}})
        for name, value in line.items():
            if name in _NAMES:
                known[_NAMES[name]] = value
            elif name not in _OF_THE_LINE:
                known["extra"][name] = value

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return
        whole = content.rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        for line in whole.split(b"\n"):
            try:
                found = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(found, dict):
                yield found
