"""What people say of the rollouts of a run: files of labels, and the one in the run's folder."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.listing import find_run
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.tally import RolloutKey

_WORDS = {
    **dict.fromkeys(("1", "true", "pass", "yes"), True),
    **dict.fromkeys(("0", "false", "fail", "no"), False),
}
_COLUMNS = ("example", "rollout", "person", "label")
_LONGEST_NAME = 80


class PersonLabel(msgspec.Struct, frozen=True):
    """What a person said of a rollout; `position` is where they or the judge saw it, if told."""

    rollout: RolloutKey
    person: str
    passes: bool
    position: str | None = None


def check_person(name: str) -> str:
    """The name of somebody who labels, without spaces around it; raises UsageError."""
    found = name.strip()
    is_word = found.isprintable() and any(map(str.isalnum, found)) and "/" not in found
    if not is_word or len(found) > _LONGEST_NAME:
        raise UsageError(
            f"{name[:_LONGEST_NAME]!r} cannot be the name of a person",
            hint=f"give up to {_LONGEST_NAME} characters without a slash, as in `--as ada`",
        )
    return found


def labelling_order(run_id: str, person: str, rollouts: Iterable[RolloutKey]) -> list[RolloutKey]:
    """The order in which a person sees rollouts: random, the same each time, another for others.

    What comes later, as a run goes on, does not change the order of the rest.
    """
    seed = f"{run_id} {person} ".encode(errors="replace")
    return sorted(rollouts, key=lambda each: digest_bytes(b"%b%d.%d" % (seed, *each)))


# --- Those in the folder of a run ---


def saved_labels(folder: RunFolder) -> list[PersonLabel]:
    """What people said on the pages of `prime judge label`; raises UsageError, StorageFailed."""
    return read_labels(folder.labels) if folder.labels.is_file() else []


def save_label(folder: RunFolder, label: PersonLabel) -> None:
    """Add a label, in place of an earlier one by this person; raises Conflict, StorageFailed."""
    with locked(folder.path / ".labels.lock"):
        kept = [
            each
            for each in saved_labels(folder)
            if (each.rollout, each.person) != (label.rollout, label.person)
        ]
        lines = b"".join(msgspec.json.encode(_written(each)) + b"\n" for each in (*kept, label))
        write_atomically(folder.labels, lines, mode=0o644)


def _written(label: PersonLabel) -> dict[str, object]:
    values = (*label.rollout, label.person, "pass" if label.passes else "fail")
    place = {"position": label.position} if label.position else {}
    return dict(zip(_COLUMNS, values, strict=True)) | place


def labels_of(run: SavedRun, cwd: Path) -> list[PersonLabel]:
    """Those in the folder of a run, or of the one whose answers it has rescored.

    Raises NotFound if nobody has labelled either.
    """
    found = saved_labels(run.folder)
    source = run.manifest.rescored_of if run.manifest is not None else None
    if not found and source is not None:
        found = saved_labels(find_run(source, cwd).folder)
    if not found:
        raise NotFound(
            f"Nobody has labelled rollouts of run {run.folder.run_id}",
            hint=f"label some with `prime judge label {run.folder.run_id}`, or give a file",
        )
    return found


# --- Files ---


def read_labels(path: Path) -> list[PersonLabel]:
    """The labels in a CSV file with a header, or in JSON lines.

    The columns are `example`, `rollout`, `person`, `label` (1, true, pass or yes; 0, false, fail or
    no) and, optionally, `position`. Raises UsageError with the line, NotFound, StorageFailed.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {path}", hint=f"its columns are {', '.join(_COLUMNS)}")
    with storage_errors(path):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    rows = _json_rows(text, path) if path.suffix == ".jsonl" else _csv_rows(text)
    return [_label(row, f"Line {number} of {path}") for number, row in rows]


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return enumerate(csv.DictReader(text.splitlines()), 2)


def _json_rows(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"Line {number} of {path} is not JSON: {error}") from error
        yield number, row if isinstance(row, dict) else {}


def _label(row: Mapping[str, Any], place: str) -> PersonLabel:
    told = {name: str(row.get(name, "")).strip() for name in _COLUMNS}
    passes = _WORDS.get(told["label"].lower())
    try:
        rollout = int(told["example"]), int(told["rollout"] or 0)
    except ValueError:
        rollout = None
    if rollout is None or passes is None or not told["person"]:
        raise UsageError(
            f"{place} is not a label",
            hint=f"give the columns {', '.join(_COLUMNS)}, such as `3,0,ada,pass`",
        )
    position = str(row.get("position") or "").strip() or None
    return PersonLabel(rollout, told["person"], passes, position)
