"""Where the files of a run lie, and who may write them."""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import Conflict
from prime_cli.core.file_locks import try_lock
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import module_name

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
        """The lock of the interpreter: what it takes to make the same one again."""
        return self.path / "lock.json"

    @property
    def before(self) -> Path:
        """The rewards that rollouts had before they were scored again."""
        return self.path / "before.jsonl"

    @property
    def saved(self) -> Path:
        """What they are scored by, as long as that goes on."""
        return self.path / "saved.jsonl"

    @property
    def lock(self) -> Path:
        return self.path / ".lock"


def runs_folder(environment: str, model: str, cwd: Path) -> Path:
    """Where vf-eval puts runs: `outputs/evals/<environment>--<model>`, a slash in either as `--`.

    Below `environments/<module>/` when that folder exists, else below `cwd`.
    """
    project = cwd / "environments" / module_name(environment)
    base = project if project.is_dir() else cwd
    return base / "outputs" / "evals" / run_group_name(environment, model)


def run_group_name(environment: str, model: str, *, windows: bool = sys.platform == "win32") -> str:
    """`<environment>--<model>`, a slash in either as `--`, and what is no file name there as `-`.

    A colon of a model of ours goes everywhere, since GitHub's artifacts let it stand as little as
    Windows does; others keep theirs where they can, for the tools that look for them.
    """
    name = f"{environment}--{model}".replace("/", "--")
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
    """Be the only writer of `folder`; raises Conflict while another process is.

    The system drops the lock when its holder dies, however it dies, so none is ever stale; the
    number of the process is in the file for the message alone.
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
        # A folder that this user may only read: the manifest's word stands.
        return True
