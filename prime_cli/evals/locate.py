"""From the word on the command line to a project folder, a wheel or a hub's environment."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.core.errors import BadProject, NotFound
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, is_reference, module_name, normalize_name
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project import load_project
from prime_cli.envs.pyproject import FILENAME


@dataclass(frozen=True)
class Places:
    """Where environments are looked for: `cwd`, then the hub that `hub` opens when needed.

    `owner` is who publishes from here on the hub in the box.
    """

    cwd: Path
    hub: Callable[[], HubClient]
    offline: bool = False
    owner: str | None = None


Located = Path | EnvRef
"""A project folder or a wheel on this disk, or an environment of the hub."""


def locate(text: str, places: Places, progress: Progress, *, hub_only: bool = False) -> Located:
    """What `text` means: folders first, then the hub; says which it took. Fetches nothing.

    Raises NotFound, BadReference, or UsageError where several owners have the name.
    """
    path = None if hub_only else find_local(text, places.cwd)
    if path is None:
        return resolve_name(places.hub(), text, progress=progress)
    if not path.exists():
        raise NotFound(f"There is no {path}", hint="see what the hub has with `prime env list`")
    if not _is_path(text):
        progress.say(f"`{text}` is the project in {_short(path, places.cwd)}")
    return path


def find_local(text: str, cwd: Path) -> Path | None:
    """The project folder or wheel that `text` means on this disk, if any.

    A path is that path. A bare name is the project in `cwd` if it is called so, else `./NAME`,
    else `./environments/<module>`.
    """
    named = cwd / Path(text).expanduser()
    if _is_path(text) or text.endswith(".whl"):
        return named
    if "/" in text:
        return named if (named / FILENAME).is_file() or not is_reference(text) else None
    if _is_called(cwd, text):
        return cwd
    candidates = [named, cwd / "environments" / text, cwd / "environments" / module_name(text)]
    return next((folder for folder in candidates if (folder / FILENAME).is_file()), None)


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
