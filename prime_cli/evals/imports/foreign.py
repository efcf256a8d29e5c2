"""A run of another tool as a folder of metadata.json and results.jsonl, as `vf-eval` writes them.

Its name follows from the content of the source, so importing that again finds it.
"""

import hashlib
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.digests import digest_file
from prime_cli.core.paths import make_folder, replacing, storage_errors, write_atomically
from prime_cli.core.progress import Task
from prime_cli.runs.export.text import as_json
from prime_cli.runs.folder import RunFolder, runs_folder
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runs.summary import IMPORT_KEY
from prime_cli.runs.vf_eval_writer import official_row


@dataclass(frozen=True)
class ForeignRun:
    """What a reader found: `told` are keys of metadata.json, `notes` what readers must know.

    `form` names the format and the release that read it.
    """

    form: str
    told: dict[str, Any]
    rows: Iterable[Row]
    notes: tuple[str, ...]


class ImportSource(msgspec.Struct, frozen=True):
    """What is imported, and how: kept as `prime_import` in metadata.json, with form and notes.

    `log` is its name, without the folders of this machine.
    """

    log: str
    sha256: str
    name: str | None = None
    scorer: str | None = None

    @property
    def run_id(self) -> str:
        """The same for the same content and options."""
        parts = (self.sha256, self.name, self.scorer)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:8]


def digest_of(path: Path) -> str:
    """The digest of a file, or of the names and contents in a folder; raises StorageFailed."""
    with storage_errors(path):
        if path.is_file():
            return digest_file(path)
        files = sorted(each for each in path.rglob("*") if each.is_file())
        names = [[each.relative_to(path).as_posix(), digest_file(each)] for each in files]
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()


def imported_before(source: ImportSource, cwd: Path) -> SavedRun | None:
    """The run that an earlier import of `source` made."""
    found = (cwd / "outputs" / "evals").glob(f"*/{source.run_id}/metadata.json")
    return next((open_run(path.parent) for path in found), None)


def write_run(foreign: ForeignRun, source: ImportSource, cwd: Path, task: Task) -> SavedRun:
    """Write the run below `cwd`, whole or not at all; raises StorageFailed."""
    told = foreign.told | ({"env_id": source.name} if source.name else {})
    group = runs_folder(told["env_id"], told["model"], cwd, "outputs")
    parent = make_folder(group)
    with (
        storage_errors(parent),
        tempfile.TemporaryDirectory(prefix=".import-", dir=parent) as scratch,
    ):
        made = RunFolder(Path(scratch) / source.run_id)
        with replacing(made.results, mode=0o644) as file:
            for row in foreign.rows:
                file.write(as_json(_line(row)) + b"\n")
                task.advance()
        record = msgspec.to_builtins(source) | {"form": foreign.form, "notes": foreign.notes}
        _save(made, told | {"run_id": source.run_id, IMPORT_KEY: record})
        summary = open_run(made.path).summary()
        means = {name: metric.mean for name, metric in summary.metrics.items()}
        averages = {f"avg_{name}": mean for name, mean in means.items()}
        told |= {"avg_reward": summary.reward.mean, "avg_error": summary.error_rate}
        _save(made, averages | told | {"run_id": source.run_id, IMPORT_KEY: record})
        made.path.rename(parent / source.run_id)
    return open_run(parent / source.run_id)


def _line(row: Row) -> dict[str, Any]:
    line = official_row(row)
    if row.error is not None and row.error.traceback:
        line["error"]["traceback"] = row.error.traceback
    return line


def _save(folder: RunFolder, metadata: dict[str, Any]) -> None:
    content = msgspec.json.format(as_json(metadata), indent=2)
    write_atomically(folder.metadata, content + b"\n", mode=0o644)


def without_score(said: str) -> Failure:
    """The error of a rollout that the other tool has not scored."""
    return Failure("environment", "NoReward", said)
