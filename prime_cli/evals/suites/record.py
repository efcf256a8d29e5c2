"""The record of a suite that was run: one folder, one id, and the run of each evaluation."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli import __version__
from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.evals.suites.definition import Suite
from prime_cli.runs.saved_run import SavedRun, open_run

SCHEMA = 1
RUNNING = "running"
FINISHED = "finished"
INTERRUPTED = "interrupted"
CAPPED = "capped"
FAILED = "failed"
WAITING = "waiting"


class CellRecord(msgspec.Struct, frozen=True):
    """One evaluation: `path` is the folder of its run, once it exists, `failure` why it does not.

    `status` is `waiting`, or the run's.
    """

    key: str
    status: str = WAITING
    run_id: str | None = None
    path: str | None = None
    failure: str | None = None


class SuiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """suite.json. Times are ISO 8601 with zone; `digest` is the definition's."""

    schema: int = SCHEMA
    suite_id: str
    name: str
    file: str
    digest: str
    started: str
    ended: str | None = None
    status: str = RUNNING
    cells: tuple[CellRecord, ...] = ()
    prime: str = __version__

    def with_cell(self, cell: CellRecord) -> "SuiteRecord":
        """The same record with `cell` replacing the one with its key."""
        cells = tuple(cell if cell.key == known.key else known for known in self.cells)
        return msgspec.structs.replace(self, cells=cells)


@dataclass(frozen=True)
class SuiteFolder:
    """The folder of a suite's own files; its name is the suite's id."""

    path: Path

    @property
    def suite_id(self) -> str:
        return self.path.name

    @property
    def record(self) -> Path:
        return self.path / "suite.json"

    @property
    def csv(self) -> Path:
        return self.path / "leaderboard.csv"

    @property
    def json(self) -> Path:
        return self.path / "leaderboard.json"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"


def suites_folder(cwd: Path) -> Path:
    """The folder of all suites, beside the runs."""
    return cwd / "outputs" / "suites"


def new_suite_folder(suite: Suite, cwd: Path) -> SuiteFolder:
    """A fresh folder `outputs/suites/<name>/<id>`; raises StorageFailed."""
    name = "".join(char if char.isalnum() or char in "._-" else "-" for char in suite.name)
    path = suites_folder(cwd) / (name.lstrip(".") or "suite") / secrets.token_hex(4)
    with storage_errors(path):
        path.mkdir(parents=True)
    return SuiteFolder(path)


def save_record(folder: SuiteFolder, record: SuiteRecord) -> None:
    """Write suite.json atomically; raises StorageFailed."""
    content = msgspec.json.format(msgspec.json.encode(record), indent=2)
    write_atomically(folder.record, content + b"\n", mode=0o644)


def load_record(folder: SuiteFolder) -> SuiteRecord:
    """Read a suite.json; raises NotFound if there is none, UsageError if it cannot be read."""
    if not folder.record.is_file():
        raise NotFound(f"{folder.path} is not a suite")
    with storage_errors(folder.record):
        content = folder.record.read_bytes()
    try:
        record = msgspec.json.decode(content, type=SuiteRecord)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{folder.record} is not the record of a suite: {error}") from error
    if record.schema > SCHEMA:
        raise UsageError(
            f"{folder.record} was written by a newer prime (schema {record.schema})",
            hint="upgrade prime to read it",
        )
    return record


def list_suites(cwd: Path) -> list[tuple[SuiteFolder, SuiteRecord]]:
    """The readable suites below `cwd`, newest first."""
    found = list(_readable(cwd))
    return sorted(found, key=lambda pair: pair[1].started, reverse=True)


def _readable(cwd: Path) -> Iterator[tuple[SuiteFolder, SuiteRecord]]:
    for path in suites_folder(cwd).glob("*/*"):
        try:
            yield SuiteFolder(path), load_record(SuiteFolder(path))
        except (NotFound, UsageError):
            continue


def find_suite(wanted: str | None, cwd: Path) -> tuple[SuiteFolder, SuiteRecord]:
    """The suite in folder `wanted`, or whose id begins with it; the newest one for None.

    Raises NotFound if there is none, UsageError if several ids match.
    """
    if wanted is not None and (cwd / wanted).is_dir():
        folder = SuiteFolder(cwd / wanted)
        return folder, load_record(folder)
    found = list_suites(cwd)
    if wanted is not None:
        found = [pair for pair in found if pair[0].suite_id.startswith(wanted)]
        if len(found) > 1:
            ids = ", ".join(folder.suite_id for folder, _ in found)
            raise UsageError(f"`{wanted}` matches several suites: {ids}")
    if not found:
        what = f"There is no suite `{wanted}` here" if wanted else "There are no suites here"
        raise NotFound(what, hint="run one: `prime eval run SUITE.toml`")
    return found[0]


def running_members(wanted: str, cwd: Path) -> list[SavedRun]:
    """The runs of a suite, named as for `find_suite`, that go on now.

    Raises NotFound and UsageError as it does, and Conflict if there are none.
    """
    _, record = find_suite(wanted, cwd)
    runs = [open_run(cwd / cell.path) for cell in record.cells if cell.path is not None]
    running = [run for run in runs if run.status == RUNNING]
    if not running:
        again = f"continue it with `prime eval run {record.file} --resume {record.suite_id}`"
        raise Conflict(f"No evaluation of suite {record.suite_id} is running", hint=again)
    return running


def unfinished(suite: Suite, cwd: Path) -> tuple[SuiteFolder, SuiteRecord] | None:
    """The newest suite with these evaluations that did not finish."""
    for folder, record in list_suites(cwd):
        if record.digest == suite.digest and record.status != FINISHED:
            return folder, record
    return None


def resumable(
    suite: Suite, wanted: str | None, cwd: Path
) -> tuple[SuiteFolder, SuiteRecord] | None:
    """The suite to resume: `wanted`, else the newest of this file, unfinished ones first.

    None if this file was not run here. Raises Conflict if the file has changed, NotFound if
    `wanted` does not exist.
    """
    if wanted is None:
        of_this_file = (pair for pair in list_suites(cwd) if pair[1].digest == suite.digest)
        return unfinished(suite, cwd) or next(of_this_file, None)
    folder, record = find_suite(wanted, cwd)
    if record.digest != suite.digest:
        raise Conflict(
            f"{suite.path} differs from what suite {record.suite_id} was started with",
            hint="restore the file, or start over without `--resume`",
        )
    return folder, record
