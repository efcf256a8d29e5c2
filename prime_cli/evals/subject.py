"""From the word on the command line to the wheel that is evaluated."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.archive.wheels import read_wheel
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import BadProject, LoadFailed, NotFound
from prime_cli.core.paths import make_folder, prime_home, storage_errors
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, is_reference, module_name, normalize_name
from prime_cli.envs.build import build_wheel
from prime_cli.envs.fetch import fetch_wheel
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project import load_project
from prime_cli.envs.pyproject import FILENAME
from prime_cli.evals.defaults import EvalDefaults, defaults_from, defaults_in_wheel
from prime_cli.evals.plan import PlannedEnvironment
from prime_cli.runtime.packages import WheelPackage
from prime_cli.wire.locks import Lock


@dataclass(frozen=True)
class Subject:
    """An environment on this disk, ready to be run; `lock` is the one its hub keeps."""

    environment: PlannedEnvironment
    package: WheelPackage
    defaults: EvalDefaults
    lock: Lock | None = None


@dataclass(frozen=True)
class Places:
    """Where environments are looked for: `cwd`, then the hub that `hub` opens when needed."""

    cwd: Path
    hub: Callable[[], HubClient]
    offline: bool = False
    owner: str | None = None


def find_local(text: str, cwd: Path) -> Path | None:
    """The project folder or wheel that `text` means on this disk, if any.

    A path is that path. A bare name is the project in `cwd` if it is called so, else `./NAME`,
    else `./environments/<module>`.
    """
    named = cwd / Path(text).expanduser()
    if text.endswith(".whl"):
        return named
    if not _is_bare(text):
        if (named / FILENAME).is_file() or not is_reference(text):
            return named
        return None
    candidates = [named, cwd / "environments" / text, cwd / "environments" / module_name(text)]
    if _is_called(cwd, text):
        return cwd
    return next((folder for folder in candidates if (folder / FILENAME).is_file()), None)


def obtain(text: str, places: Places, progress: Progress, *, hub_only: bool = False) -> Subject:
    """The environment that `text` means: folders first, then the hub; says which it took.

    Raises what building a project or fetching a wheel raises; LoadFailed for a wheel in which
    nothing can be an environment.
    """
    path = None if hub_only else find_local(text, places.cwd)
    if path is None:
        return _from_hub(text, places, progress)
    if path.suffix == ".whl":
        return _from_wheel(path)
    if not _is_path(text):
        progress.say(f"`{text}` is the project in {_short(path, places.cwd)}")
    return _from_folder(path, progress, offline=places.offline)


def _is_bare(text: str) -> bool:
    return "/" not in text and not _is_path(text)


def _is_path(text: str) -> bool:
    return text.startswith((".", "/", "~")) or text.endswith("/")


def _is_called(folder: Path, name: str) -> bool:
    try:
        return normalize_name(load_project(folder).name) == normalize_name(name)
    except (BadProject, NotFound):
        return False


def _short(path: Path, cwd: Path) -> str:
    try:
        return f"./{path.relative_to(cwd)}" if path != cwd else "this folder"
    except ValueError:
        return str(path)


def _from_hub(text: str, places: Places, progress: Progress) -> Subject:
    hub = places.hub()
    ref = resolve_name(hub, text, places.owner, progress=progress)
    fetched = fetch_wheel(hub, ref, progress=progress, offline=places.offline)
    return _subject(fetched.package, ref=fetched.ref, lock=fetched.lock)


def _from_wheel(path: Path) -> Subject:
    if not path.is_file():
        raise NotFound(f"There is no wheel at {path}", hint="build one with `prime env build`")
    with storage_errors(path):
        sha256 = digest_file(path)
    return _subject(WheelPackage(path, sha256, read_wheel(path)), path=path)


def _from_folder(folder: Path, progress: Progress, *, offline: bool) -> Subject:
    if not folder.is_dir():
        raise NotFound(
            f"There is no environment at {folder}",
            hint="see what the hub has with `prime env list`",
        )
    project = load_project(folder)
    wheels = make_folder(prime_home() / "wheels")
    with storage_errors(wheels), tempfile.TemporaryDirectory(dir=wheels) as scratch:
        built = build_wheel(project, Path(scratch), progress, offline=offline)
        sha256 = digest_file(built)
        kept = make_folder(wheels / sha256) / built.name
        shutil.move(built, kept)
    package = WheelPackage(kept, sha256, read_wheel(kept))
    return _subject(package, path=folder, defaults=defaults_from(project.eval_defaults))


def _subject(
    package: WheelPackage,
    *,
    ref: EnvRef | None = None,
    path: Path | None = None,
    lock: Lock | None = None,
    defaults: EvalDefaults | None = None,
) -> Subject:
    facts = package.facts
    if not facts.top_level:
        raise LoadFailed(
            f"{facts.filename} holds no module, so there is nothing to evaluate",
            hint="name the module in the build backend's settings, then `prime env build`",
        )
    module = facts.module or facts.top_level[0]
    environment = PlannedEnvironment(
        name=facts.name,
        version=facts.version,
        module=module,
        sha256=package.sha256,
        ref=str(ref) if ref else None,
        path=str(path) if path else None,
    )
    return Subject(environment, package, defaults or defaults_in_wheel(package.path, module), lock)
