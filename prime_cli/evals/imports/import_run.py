"""`prime eval import`: find out which tool wrote a file or folder, and make a run of it."""

import shlex
import tempfile
from pathlib import Path

import msgspec

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.imports.foreign import (
    ForeignRun,
    ImportSource,
    digest_of,
    imported_before,
    write_run,
)
from prime_cli.evals.imports.inspect_logs import read_log
from prime_cli.evals.imports.trajectories import read_trajectories
from prime_cli.runs.saved_run import SavedRun, open_run


class Imported(msgspec.Struct, frozen=True):
    """The run, and whether an earlier import had made it."""

    run: SavedRun
    is_known: bool


def import_run(
    path: Path,
    cwd: Path,
    progress: Progress,
    *,
    name: str | None = None,
    scorer: str | None = None,
    offline: bool = False,
) -> Imported:
    """Make a run of `path` below `cwd`, of an environment `name` if one is given.

    Raises NotFound, UsageError for what is no run of a known form, StorageFailed, and ResolveFailed
    if the reader of the form cannot be installed.
    """
    if not path.exists():
        raise NotFound(f"{path} does not exist")
    source = ImportSource(path.absolute().name, digest_of(path), name, scorer)
    known = imported_before(source, cwd)
    if known is not None:
        return Imported(known, is_known=True)
    with (
        tempfile.TemporaryDirectory(prefix="prime-import-") as scratch,
        progress.task("Importing", unit="rollouts") as task,
    ):
        found = _read(path, Path(scratch), scorer, task, offline=offline)
        return Imported(write_run(found, source, cwd, task), is_known=False)


def _read(
    path: Path, scratch: Path, scorer: str | None, task: Task, *, offline: bool
) -> ForeignRun:
    found = read_trajectories(path, scorer) if path.suffix != ".eval" else None
    if found is not None:
        return found
    if path.is_file() and path.suffix in (".eval", ".json"):
        return read_log(path, scratch, scorer, task, offline=offline)
    if path.is_dir() and _is_readable(path):
        named = shlex.quote(str(path))
        raise UsageError(
            f"{path} needs no import: commands read runs of `vf-eval` where they are",
            hint=f"look at it with `prime eval view {named}`, or `prime eval show {named}`",
        )
    raise UsageError(
        f"{path} is no run of a known form",
        hint="pass a log of inspect_ai (`.eval`, `.json`), or a folder of Harbor's trials; folders "
        "of `vf-eval` are read where they are, as in `prime eval show FOLDER`",
    )


def _is_readable(folder: Path) -> bool:
    """Whether it is a run of prime or of vf-eval."""
    try:
        open_run(folder)
    except PrimeError:
        return False
    return True
