"""What a word on the command line stands for: a folder, a wheel file, or a name on the hub."""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import NotFound
from prime_cli.core.progress import Progress
from prime_cli.core.refs import is_reference, module_name, normalize_name
from prime_cli.envs.pyproject import FILENAME


@dataclass(frozen=True)
class Target:
    """Exactly one of: a project `folder`, a `wheel` file, or the `name` of something on a hub."""

    folder: Path | None = None
    wheel: Path | None = None
    name: str | None = None


def locate(
    word: str, *, here: Path, environments: Path = Path("environments"), progress: Progress
) -> Target:
    """What `word` stands for, seen from the folder `here`.

    A wheel file or a path is itself. A bare name is the project `./NAME`, else the one in
    `environments` by its module name, said aloud; else a name on the hub, as `owner/name` is
    always. Raises NotFound for a path that is not there.
    """
    path = Path(word).expanduser()
    full = here / path
    if path.suffix == ".whl":
        if not full.is_file():
            raise NotFound(f"There is no wheel {word}", hint="build one with `prime env build`")
        return Target(wheel=full)
    if _is_path(word):
        if not (full / FILENAME).is_file():
            raise NotFound(f"There is no {FILENAME} in {word}", hint="name an environment's folder")
        return Target(folder=full)
    if is_reference(word):
        return Target(name=word)
    for folder in _named_folders(word, here, environments):
        if (folder / FILENAME).is_file():
            progress.say(f"`{word}` is the folder {_shown(folder, here)}")
            return Target(folder=folder)
    return Target(name=word)


def _named_folders(word: str, here: Path, environments: Path) -> list[Path]:
    modules = dict.fromkeys((word, module_name(word), module_name(normalize_name(word))))
    return [here / word, *(here / environments / module for module in modules)]


def _is_path(word: str) -> bool:
    return word.startswith((".", "/", "~")) or word.endswith("/") or Path(word).is_absolute()


def _shown(folder: Path, here: Path) -> str:
    return f"./{folder.relative_to(here)}" if folder.is_relative_to(here) else str(folder)
