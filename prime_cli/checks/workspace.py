"""The virtual environment that `prime env install` would install into."""

from importlib import metadata
from pathlib import Path

from prime_cli.checks.findings import Finding, failed, ok, warned
from prime_cli.checks.place import Place
from prime_cli.core.errors import ResolveFailed
from prime_cli.envs.workspace import Workspace, find_workspace
from prime_cli.runtime.pythons import executable_in, python_at, version_fits

NAME = "workspace"
_LIBRARY = "verifiers"


def examine(place: Place) -> list[Finding]:
    """Which one it is and why; whether its Python runs and is new enough."""
    found = find_workspace(here=place.here, environ=place.environ)
    if not found.exists:
        return [_missing(found, place)]
    try:
        version = python_at(found.python).version
    except ResolveFailed:
        return [
            failed(
                NAME,
                f"{found.python} ({found.found_by}) is not a Python that runs",
                f"remove {found.folder}; `prime env install` makes a new one",
            )
        ]
    sentence = f"{found.folder} with Python {version} ({_why(found)})"
    wanted = _wanted_python()
    if wanted is not None and not version_fits(version, wanted):
        return [
            warned(
                NAME,
                f"{sentence}, where {_LIBRARY} needs {wanted}",
                f"remove it and make a newer one: `uv venv {found.folder}`",
            )
        ]
    return [_beside(found, place, sentence) or ok(NAME, sentence)]


def _missing(found: Workspace, place: Place) -> Finding:
    if found.folder is not None and found.folder.exists():
        return failed(
            NAME,
            f"{found.folder} has no Python: what it was made with is gone",
            f"remove {found.folder}; `prime env install` makes a new one",
        )
    active = place.environ.get("VIRTUAL_ENV")
    if active and not executable_in(Path(active)).exists():
        return warned(NAME, f"VIRTUAL_ENV is {active}, which is not there", "`deactivate`")
    return ok(NAME, f"None yet: `prime env install` makes {found.folder}")


def _beside(found: Workspace, place: Place, sentence: str) -> Finding | None:
    """A warning where another environment lies here and is passed over."""
    near = place.here / ".venv"
    if found.found_by != "VIRTUAL_ENV" or not executable_in(near).exists():
        return None
    if found.folder is not None and found.folder.resolve() == near.resolve():
        return None
    return warned(NAME, f"{sentence}, not the .venv of this folder", "`deactivate` to use that one")


def _why(found: Workspace) -> str:
    return "the nearest" if Path(found.found_by).name == ".venv" else found.found_by


def _wanted_python() -> str | None:
    """What the verifiers beside prime asks of its Python, None where there is none."""
    try:
        return metadata.metadata(_LIBRARY)["Requires-Python"]
    except metadata.PackageNotFoundError:
        return None
