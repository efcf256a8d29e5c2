"""An engine's folder, and what its engine.toml says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from prime_cli.core.errors import NotFound, UsageError

DESCRIPTION = "engine.toml"
BUILT_IN = Path(__file__).parent
DEFAULT = "trl"


class EngineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """engine.toml; `title` is its name in sentences, `size` what a download is said to need."""

    name: str
    requires: tuple[str, ...]
    entry: str
    title: str = ""
    python: str = ">=3.11"
    needs: tuple[Literal["gpu"], ...] = ()
    takes: tuple[Literal["v0", "v1"], ...] = ("v0", "v1")
    size: str = "several GB"


@dataclass(frozen=True)
class Engine:
    """A trainer: `entry` is its program, started by an interpreter that has what it `requires`.

    `requires` are requirements for uv, `python` a specifier such as `>=3.11`. It `needs` devices,
    and `takes` environments of these generations of verifiers. `size` is said before an install.
    """

    name: str
    title: str
    requires: tuple[str, ...]
    python: str
    entry: Path
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    size: str


def read_engine(folder: Path) -> Engine:
    """The engine in `folder`; raises NotFound without engine.toml, UsageError if it is invalid."""
    path = folder / DESCRIPTION
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=EngineFile)
    except FileNotFoundError as error:
        raise NotFound(
            f"{folder} is no engine: it has no {DESCRIPTION}",
            hint="`--engine` takes a name, or the folder of an engine",
        ) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is invalid: {error}") from error
    entry = folder / found.entry
    if not entry.is_file():
        raise UsageError(f"{path} names `{found.entry}` as its entry, which is not there")
    return Engine(
        found.name,
        found.title or found.name,
        found.requires,
        found.python,
        entry,
        found.needs,
        found.takes,
        found.size,
    )


def find_engine(name: str) -> Engine:
    """The engine of that name, or in that folder; raises NotFound or UsageError."""
    if "/" in name or name.startswith("."):
        return read_engine(Path(name).expanduser())
    folder = BUILT_IN / name
    if not (folder / DESCRIPTION).is_file():
        raise NotFound(f"There is no engine `{name}`", hint=f"`{DEFAULT}`, or an engine's folder")
    return read_engine(folder)
