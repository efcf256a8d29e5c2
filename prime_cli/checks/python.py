"""The Python that runs prime, and whether `prime` on PATH is this one."""

import shutil
import sys
from importlib import metadata
from pathlib import Path

from prime_cli import __version__
from prime_cli.checks.findings import Finding, ok, warned
from prime_cli.checks.place import Place

NAME = "python"
_DISTRIBUTION = "prime-cli"


def examine(place: Place) -> list[Finding]:
    """Where this prime runs; warns of another one on PATH, or of half of an upgrade."""
    version = ".".join(map(str, sys.version_info[:3]))
    inside = sys.prefix != sys.base_prefix
    venv = f" of {sys.prefix}" if inside else ", outside of a virtual environment"
    sentence = f"prime {__version__} runs on Python {version}{venv}"
    installed = _installed_version()
    if installed is not None and installed != __version__:
        return [
            warned(
                NAME,
                f"{sentence}, where prime {installed} was installed",
                "install it again, in one piece: `uv pip install --reinstall prime-cli`",
            )
        ]
    other = other_prime(Path(sys.prefix), place.environ.get("PATH"))
    if other is not None:
        return [
            warned(
                NAME,
                f"{sentence}, but `prime` on PATH is {other}",
                f"put {_scripts(Path(sys.prefix))} first on PATH, or remove the other",
            )
        ]
    return [ok(NAME, sentence)]


def other_prime(prefix: Path, path: str | None) -> Path | None:
    """The `prime` that a shell would start, where it does not belong to `prefix`."""
    found = shutil.which("prime", path=path)
    if found is None:
        return None
    starter = Path(found)
    # uv and pipx put a link elsewhere that leads into the environment.
    own = _scripts(prefix).resolve()
    folders = {starter.parent.resolve(), starter.resolve().parent}
    return None if own in folders else starter


def _scripts(prefix: Path) -> Path:
    return prefix / ("Scripts" if sys.platform == "win32" else "bin")


def _installed_version() -> str | None:
    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None  # run from its sources
