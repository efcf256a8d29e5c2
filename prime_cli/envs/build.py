"""Build an environment's wheel: the same sources give the same bytes, whatever the backend."""

import os
import tempfile
from pathlib import Path

from prime_cli.archive.epoch import source_date_epoch
from prime_cli.archive.repack import repack_wheel
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.envs.backends import run_backend
from prime_cli.envs.project import Project

DIST = "dist"
"""Where wheels go by default, below the project's root."""


def build_wheel(
    project: Project, outdir: Path, progress: Progress, *, offline: bool = False
) -> Path:
    """Build the wheel of `project` into `outdir`; returns its path.

    A wheel of the same file name there is replaced; others are left alone. Members are stamped
    with SOURCE_DATE_EPOCH, or a fixed time without it. Raises BuildFailed, Unreachable (the
    backend's requirements cannot be fetched) or StorageFailed.
    """
    epoch = source_date_epoch(os.environ)
    make_folder(outdir)
    with (
        progress.task(f"Building {project.name}"),
        storage_errors(outdir),
        tempfile.TemporaryDirectory(prefix=".prime-build-", dir=outdir) as scratch,
    ):
        built = run_backend(project, Path(scratch), epoch=epoch, offline=offline)
        repacked = Path(scratch) / "repacked.whl"
        repack_wheel(built, repacked, epoch=epoch)
        return repacked.replace(outdir / built.name)
