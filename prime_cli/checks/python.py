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
_OFFICIAL = "prime"
"""Prime Intellect's own client. It too installs `prime_cli/` and `bin/prime`."""


def examine(place: Place) -> list[Finding]:
    """Where this prime runs; warns of half an upgrade, the official client, another on PATH."""
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
    official = official_client()
    if official is not None:
        return [
            warned(
                NAME,
                f"{sentence}, but the official client (`prime` {official}) is installed in the same"
                " environment: both own `prime_cli` and the `prime` command",
                "`uv pip uninstall prime && uv pip install --reinstall prime-cli`;"
                " run the official client with `uvx --from prime prime`",
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


def official_client() -> str | None:
    """The version of the official client, where it is installed over or under this prime."""
    try:
        found = metadata.distribution(_OFFICIAL)
    except metadata.PackageNotFoundError:
        return None
    owns = any(file.parts[0] == "prime_cli" for file in found.files or ())
    return found.version if owns else None


def _scripts(prefix: Path) -> Path:
    return prefix / ("Scripts" if sys.platform == "win32" else "bin")


def _installed_version() -> str | None:
    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None  # run from its sources
