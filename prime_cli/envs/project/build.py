"""Build an environment's wheel: the same sources give the same bytes, whatever the backend.

A PEP 517 backend runs in process where it is at hand, else isolated by build and uv.
"""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from prime_cli.core.archive.imports import absent_import
from prime_cli.core.archive.left_out import file_left_out, module_beside
from prime_cli.core.archive.reproducibility import VARIABLE, repack_wheel, source_date_epoch
from prime_cli.core.archive.wheels import WheelFacts, read_wheel
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import BuildFailed, LoadFailed, Unreachable
from prime_cli.core.paths import executable_in, home_path, make_folder, storage_errors
from prime_cli.core.process import TimedOut, child_environment, run
from prime_cli.core.progress import Progress
from prime_cli.envs.local_store import WheelStore
from prime_cli.envs.project.folder import Project
from prime_cli.envs.project.wheel_checks import caution_of_imports, check_wheel, refuse_left_out
from prime_cli.runtime.interpreters import Interpreter, prepare_interpreter
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.sources import PackageSource
from prime_cli.runtime.uv_tool import network_failure, run_uv

_LAST_LINES = 15
_LONGEST_SECONDS = 1800
_HATCHLING = "hatchling.build"
_CHECK_LOG = "fix the backend's errors above, then run the same command again"
DIST = "dist"
"""Where wheels go by default, below the project's root."""


def _run_backend(project: Project, folder: Path, *, epoch: int, offline: bool = False) -> Path:
    """Build a wheel of `project` into `folder`; returns its path.

    Raises BuildFailed with the backend's last lines, or Unreachable when what the backend needs
    cannot be fetched.
    """
    if hatchling_fits(project):
        return _build_by_hatchling(project, folder)
    return _build_isolated(project, folder, epoch=epoch, offline=offline)


def hatchling_fits(project: Project) -> bool:
    """Whether the hatchling beside prime builds this as an isolated one would.

    So it does when its version satisfies `build-system.requires`, nothing else is required, and
    no code of the project (hooks, plugins, version sources) would run in our process.
    """
    system = project.pyproject.get("build-system", {})
    if system.get("build-backend") != _HATCHLING or "backend-path" in system:
        return False
    if (project.root / "hatch.toml").exists() or _runs_code(project.pyproject):
        return False
    from hatchling.__about__ import __version__

    return all(_is_met(text, __version__) for text in system.get("requires", []))


def _is_met(text: str, version: str) -> bool:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return False
    plain = not (requirement.url or requirement.extras or requirement.marker)
    return plain and requirement.name == "hatchling" and requirement.specifier.contains(version)


def _runs_code(pyproject: Mapping[str, Any]) -> bool:
    """Whether hatchling would load hooks, plugins or a version source other than a regex."""
    hatch = pyproject.get("tool", {}).get("hatch", {})
    return _has_key(hatch, "hooks") or hatch.get("version", {}).get("source", "regex") != "regex"


def _has_key(table: Any, key: str) -> bool:
    return isinstance(table, dict) and (
        key in table or any(_has_key(value, key) for value in table.values())
    )


def _build_by_hatchling(project: Project, folder: Path) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    said = io.StringIO()
    builder = WheelBuilder(str(project.root))
    try:
        with redirect_stdout(said), redirect_stderr(said), _temporary_files_removed():
            built = next(builder.build(directory=str(folder), versions=["standard"]))
    except Exception as error:
        lines = f"{said.getvalue()}{type(error).__name__}: {error}"
        raise _failure(project, lines) from error
    return Path(built)


@contextmanager
def _temporary_files_removed() -> Iterator[None]:
    """Let temporary files of this process be in a folder that goes: where a build breaks off,
    hatchling leaves its unfinished wheel among them.
    """
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="prime-build-") as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _build_isolated(project: Project, folder: Path, *, epoch: int, offline: bool) -> Path:
    from build import BuildBackendException, BuildException, ProjectBuilder

    with tempfile.TemporaryDirectory(prefix="prime-build-") as scratch:
        backend = _IsolatedBackend(Path(scratch), epoch=epoch, offline=offline)
        try:
            builder = ProjectBuilder.from_isolated_env(backend, project.root, backend.run)
            backend.install(builder.build_system_requires)
            backend.install(builder.get_requires_for_build("wheel"))
            return Path(builder.build("wheel", folder))
        except (BuildBackendException, BuildException) as error:
            raise _failure(project, backend.said or str(error)) from error


def _failure(project: Project, said: str) -> BuildFailed:
    lines = [line.rstrip() for line in said.strip().splitlines()]
    return BuildFailed(
        f"The build of `{project.name}` failed",
        detail="\n".join(lines[-_LAST_LINES:]),
        hint=_CHECK_LOG,
    )


class _IsolatedBackend:
    """A virtual environment for one build, made and filled by uv (an `IsolatedEnv` of build)."""

    def __init__(self, scratch: Path, *, epoch: int, offline: bool) -> None:
        self._scratch = scratch
        self._venv = scratch / "venv"
        self._epoch = epoch
        self._offline = offline
        self.said = ""

    @property
    def python_executable(self) -> str:
        return str(executable_in(self._venv))

    def make_extra_environ(self) -> Mapping[str, str]:
        """Variables of the backend's process; setuptools keeps its scratch out of the project."""
        scripts = str(Path(self.python_executable).parent)
        return {
            "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
            "PYTHONPATH": "",
            "VIRTUAL_ENV": str(self._venv),
            "DIST_EXTRA_CONFIG": str(self._write_setuptools_config()),
            VARIABLE: str(self._epoch),
        }

    def install(self, requirements: set[str]) -> None:
        """Make the virtual environment if there is none, and install `requirements` into it."""
        if not self._venv.exists():
            self._uv(["venv", "--python", sys.executable, str(self._venv)])
        if requirements:
            python = ["--python", self.python_executable]
            self._uv(["pip", "install", *python, *sorted(requirements)])

    def run(
        self,
        cmd: Sequence[str],
        cwd: str | None = None,
        extra_environ: Mapping[str, str] | None = None,
    ) -> None:
        """Run one hook of the backend; keeps what it said. Raises CalledProcessError."""
        env = {**child_environment(), **(extra_environ or {})}
        try:
            ended = run(cmd, cwd=Path(cwd) if cwd else None, env=env, timeout=_LONGEST_SECONDS)
        except TimedOut as error:
            ended = error.partial
        self.said = f"{ended.out}\n{ended.err}"
        if not ended.ok:
            raise subprocess.CalledProcessError(ended.code, list(cmd))

    def _uv(self, arguments: list[str]) -> None:
        ended = run_uv(arguments, offline=self._offline)
        if ended.ok:
            return
        raise network_failure(ended, offline=self._offline) or BuildFailed(
            "The build backend's requirements cannot be installed",
            detail=ended.last_lines(_LAST_LINES),
            hint="correct `requires` below [build-system]",
        )

    def _write_setuptools_config(self) -> Path:
        path = self._scratch / "setuptools.cfg"
        path.write_text(
            f"[build]\nbuild_base = {self._scratch / 'build'}\n", encoding="utf-8", newline="\n"
        )
        return path


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
        built = _run_backend(project, Path(scratch), epoch=epoch, offline=offline)
        repacked = Path(scratch) / "repacked.whl"
        repack_wheel(built, repacked, epoch=epoch)
        return repacked.replace(outdir / built.name)


def build_into_store(
    project: Project, home: Path, progress: Progress, *, offline: bool = False
) -> Path:
    """Build the wheel of `project` into the wheel store of `home`; raises as `build_wheel`."""
    # On the store's own disk, so that the wheel gets there by a rename.
    scratch = make_folder(home_path(home, "cache") / "builds")
    with storage_errors(scratch), tempfile.TemporaryDirectory(dir=scratch) as folder:
        built = build_wheel(project, Path(folder), progress, offline=offline)
        return WheelStore(home).adopt(built)


def build_checked(
    project: Project,
    outdir: Path,
    progress: Progress,
    *,
    check: bool = True,
    offline: bool = False,
    claim: datetime | None = None,
) -> tuple[Path, WheelFacts]:
    """Build the project's wheel and look at it; warns of what will surprise its users.

    With `check` it is also imported in a clean interpreter, with packages of the time of `claim`.
    Raises BuildFailed, LoadFailed, ResolveFailed.
    """
    wheel = build_wheel(project, outdir, progress, offline=offline)
    facts = read_wheel(wheel)
    check_built_wheel(
        wheel, facts, progress, project=project, check=check, offline=offline, claim=claim
    )
    return wheel, facts


def check_built_wheel(
    wheel: Path,
    facts: WheelFacts,
    progress: Progress,
    *,
    project: Project | None = None,
    check: bool = True,
    offline: bool = False,
    claim: datetime | None = None,
) -> None:
    """Refuse a wheel that cannot work, and warn of the rest; raises as `build_checked` does."""
    if project is not None:
        refuse_left_out(wheel, facts, project)
    for caution in [*check_wheel(facts, project), *caution_of_imports(wheel, facts)]:
        progress.warn(caution.message, hint=caution.hint)
    if check:
        sources = project.uv_sources if project else ()
        interpreter = check_import(
            wheel, facts, progress, sources=sources, offline=offline, claim=claim
        )
        if interpreter is not None and project is not None:
            refuse_unloaded(project.root, facts, interpreter)


def refuse_unloaded(root: Path, facts: WheelFacts, interpreter: Interpreter) -> None:
    """Raise LoadFailed if it could not be loaded for want of a file that is in the folder `root`.

    Other failures with the default arguments may be of this machine, such as of its network.
    """
    why = interpreter.not_loaded
    absent = absent_import(why)
    left = module_beside(root, absent) if absent else file_left_out(root, why)
    if left is not None:
        raise LoadFailed(
            f"{facts.name} {facts.version} cannot be loaded: {left.sentence}", hint=left.hint
        )


def check_import(
    wheel: Path,
    facts: WheelFacts,
    progress: Progress,
    *,
    sources: tuple[PackageSource, ...] = (),
    offline: bool = False,
    claim: datetime | None = None,
) -> Interpreter | None:
    """The isolated interpreter in which the wheel's module imports, packages from `sources` in it.

    None, with a warning, when the packages it needs cannot be fetched now. Raises LoadFailed when
    the module raises, ResolveFailed when no set of packages works.
    """
    package = WheelPackage(wheel.absolute(), digest_file(wheel), facts, claim, sources=sources)
    try:
        return prepare_interpreter(package, offline=offline, progress=progress, claim=claim)
    except Unreachable as error:
        progress.warn(
            f"`{facts.filename}` was not imported, and has no lock: {error.message}",
            hint="run `prime env build` again when the package index can be reached",
        )
        return None
