"""From a word on the command line to a project folder or a wheel on this disk."""

from pathlib import Path

from prime_cli.core.errors import BadProject, NotFound
from prime_cli.core.progress import Progress
from prime_cli.core.refs import is_reference, module_name, normalize_name
from prime_cli.envs.project import load_project
from prime_cli.envs.pyproject import FILENAME

ENVIRONMENTS = Path("environments")
"""Where `prime env init` and the official client keep projects, by the names of their modules."""


def find_local(word: str, here: Path, *, environments: Path = ENVIRONMENTS) -> Path | None:
    """The project folder or wheel that `word` names, seen from the folder `here`; None if none.

    A path is that path: what is written like one, and an `a/b` that is a project or could not be
    `owner/name`. A bare name is the project in `here` if it is called so, else `./NAME` or
    `./<module>`, else the one in `environments`. Raises NotFound for a path that is not there.
    """
    path = here / Path(word).expanduser()
    if _is_path(word) or ("/" in word and not is_reference(word)):
        return _existing(path)
    if "/" in word:
        return path if _is_project(path) else None
    if _is_called(here, word):
        return here
    modules = dict.fromkeys((word, module_name(word), module_name(normalize_name(word))))
    candidates = [here / folder / module for folder in (".", environments) for module in modules]
    return next(filter(_is_project, candidates), None)


def choose_local(
    word: str, here: Path, progress: Progress, *, environments: Path = ENVIRONMENTS
) -> Path | None:
    """The same as `find_local`; which project a bare name stands for is said aloud."""
    found = find_local(word, here, environments=environments)
    if found is not None and not _is_path(word):
        progress.say(f"`{word}` is the project in {_shown(found, here)}")
    return found


def find_project(word: str | None, here: Path) -> Path:
    """The project folder that `word` names; None is `here`, and `owner/NAME` the project NAME.

    Raises NotFound when there is none.
    """
    if word is None:
        return here
    found = find_local(word, here)
    if found is None and "/" in word:
        found = find_local(word.rpartition("/")[2], here)
    if found is None and (here / word).is_dir():
        found = here / word  # to be told what it lacks
    if found is None or not found.is_dir():
        raise NotFound(
            f"There is no environment `{word}` here",
            hint=f"give its folder, or start one with `prime env init {Path(word).name}`",
        )
    return found


def _is_path(word: str) -> bool:
    """Whether a word can only be meant as a path."""
    plain = word.startswith((".", "/", "~")) or word.endswith(("/", ".whl"))
    return plain or Path(word).is_absolute()


def _existing(path: Path) -> Path:
    if path.exists():
        return path
    if path.suffix == ".whl":
        raise NotFound(f"There is no wheel {path}", hint="build one with `prime env build`")
    raise NotFound(f"There is no {path}", hint="see what the hub has with `prime env list`")


def _is_project(folder: Path) -> bool:
    return (folder / FILENAME).is_file()


def _is_called(folder: Path, name: str) -> bool:
    try:
        return normalize_name(load_project(folder).name) == normalize_name(name)
    except BadProject:
        return False


def _shown(folder: Path, here: Path) -> str:
    if folder == here:
        return "this folder"
    return f"./{folder.relative_to(here)}" if folder.is_relative_to(here) else str(folder)
