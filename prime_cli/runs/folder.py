"""The files of a run: their paths, who may write them, and the journal.

The journal is append-only JSON lines, one per finished rollout.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from types import TracebackType
from typing import Self

import msgspec

from prime_cli.core.errors import Conflict
from prime_cli.core.file_locks import try_lock
from prime_cli.core.paths import open_descriptor, storage_errors
from prime_cli.core.refs import module_name
from prime_cli.runs.index.file import ROWS, IndexWriter, read_line, whole_lines
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber

_NOT_ON_WINDOWS = re.compile(r'[<>:"\\|?*\x00-\x1f]')


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run; its name is the run's id."""

    path: Path

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def results(self) -> Path:
        return self.path / "results.jsonl"

    @property
    def metadata(self) -> Path:
        return self.path / "metadata.json"

    @property
    def traces(self) -> Path:
        """What the evaluator of verifiers 0.3 and later writes."""
        return self.path / "traces.jsonl"

    @property
    def manifest(self) -> Path:
        return self.path / "run.json"

    @property
    def log(self) -> Path:
        return self.path / "worker.log"

    @property
    def packages(self) -> Path:
        """The lock of the interpreter: everything needed to recreate it."""
        return self.path / "lock.json"

    @property
    def receipt(self) -> Path:
        return self.path / "receipt.json"

    @property
    def pushed_receipt(self) -> Path:
        """Of a hub's copy of a run: the receipt of that run, which lists other files."""
        return self.path / "pushed-receipt.json"

    @property
    def before(self) -> Path:
        """The rollouts' rewards before rescoring."""
        return self.path / "before.jsonl"

    @property
    def saved(self) -> Path:
        """The rollouts being rescored, while that lasts."""
        return self.path / "saved.jsonl"

    @property
    def labels(self) -> Path:
        """What people said of the rollouts."""
        return self.path / "labels.jsonl"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"


def runs_folder(environment: str, model: str, cwd: Path, outputs: str | None = None) -> Path:
    """Where vf-eval puts runs: `outputs/evals/<environment>--<model>`, with `--` for any slash.

    Below `environments/<module>/` when that folder exists, else below `cwd`; another folder of
    `outputs` is used as it is.
    """
    if outputs is not None:
        return cwd / outputs / "evals" / run_group_name(environment, model)
    name = module_name(environment)
    project = cwd / "environments" / name
    # The name may be that of a run's folder which somebody else wrote.
    is_own = name == Path(name).name != "" and project.is_dir()
    base = project if is_own else cwd
    return base / "outputs" / "evals" / run_group_name(environment, model)


def run_group_name(environment: str, model: str, *, windows: bool = sys.platform == "win32") -> str:
    """`<environment>--<model>`, with `--` for any slash and `-` for what the file system forbids.

    A model that is a folder has that folder's name. A colon in a model of ours is always replaced,
    since GitHub's artifacts forbid it as Windows does; others keep theirs where possible, for the
    tools that look for them.
    """
    if model.startswith(("/", "\\", ".", "~")) or PureWindowsPath(model).drive:
        model = re.split(r"[/\\]", model.rstrip("/\\"))[-1].strip(".~") or "model"
    name = f"{environment}--{model}".replace("/", "--").replace("\0", "-")
    if model.startswith("builtin/"):
        name = name.replace(":", "-")
    return _NOT_ON_WINDOWS.sub("-", name).rstrip(" .") if windows else name


def new_run_folder(parent: Path) -> RunFolder:
    """A fresh folder under `parent`, named by 8 random hex characters; raises StorageFailed."""
    path = parent / secrets.token_hex(4)
    with storage_errors(path):
        path.mkdir(parents=True)
    return RunFolder(path)


@contextmanager
def writing(folder: RunFolder) -> Iterator[None]:
    """Be the only writer of `folder`; raises Conflict if another process is.

    The system drops the lock when its holder dies, however it dies, so none is ever stale; the file
    holds the process id for the message only.
    """
    with storage_errors(folder.lock):
        file = folder.lock.open("a+", encoding="ascii")
    with file:
        if not try_lock(file):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise Conflict(
                f"{folder.path} is being written by another prime (process {holder})",
                hint="wait for it to end, or stop that process",
            )
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def is_being_written(folder: RunFolder) -> bool:
    """Whether a living process holds `folder`."""
    try:
        with folder.lock.open("r+", encoding="ascii") as file:
            return not try_lock(file)
    except FileNotFoundError:
        return False
    except OSError:
        # A folder that this user may only read: trust the manifest.
        return True


_ENCODER = msgspec.json.Encoder(uuid_format="hex")


class Journal:
    """The writer. Each line goes to the system in one `write` before `append` returns.

    A killed process therefore leaves whole lines and at most one torn last line, which the next
    writer cuts off and every reader skips. An index of the lines is kept beside it.
    """

    def __init__(self, path: Path, scrub: Scrubber) -> None:
        self.path = path
        self._scrub = scrub
        self._descriptor = -1
        self._end = 0
        self._index = IndexWriter()

    def __enter__(self) -> Self:
        with storage_errors(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = open_descriptor(self.path, flags)
            self._end = _end_of_last_line(self._descriptor)
            os.ftruncate(self._descriptor, self._end)
        self._index = IndexWriter.beside(self.path)
        return self

    def append(self, row: Row) -> None:
        """Write `row`; raises StorageFailed (disk full, folder gone)."""
        line = self._scrub(_ENCODER.encode(row)) + b"\n"
        size = len(line)
        with storage_errors(self.path):
            while line:
                line = line[os.write(self._descriptor, line) :]
        self._index.append(self._end, size, row)
        self._end += size

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._index.close()
        with storage_errors(self.path):
            os.fsync(self._descriptor)
            os.close(self._descriptor)


def _end_of_last_line(descriptor: int) -> int:
    end = os.lseek(descriptor, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65_536)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def read_journal(path: Path) -> Iterator[Row]:
    """The rows of a journal in the order written; none if there is no file.

    A last line without a newline was being written when the run was killed, and is skipped. Raises
    UsageError for a line that is not a row, and for a newer schema.
    """
    for number, (_, line) in enumerate(whole_lines(path), 1):
        yield read_line(ROWS, line, path, number)
