"""uv, which resolves, makes virtual environments and installs for prime."""

import re
from importlib import metadata

from packaging.requirements import Requirement

from prime_cli.checks.findings import Finding, failed, ok, warned
from prime_cli.checks.place import Place
from prime_cli.core.errors import EnvironmentFailed
from prime_cli.core.process import TimedOut, run
from prime_cli.runtime.uv_tool import find_uv

NAME = "uv"
_SECONDS = 5.0
_VERSION = re.compile(r"uv (\d+(?:\.\d+)+)")


def examine(_place: Place) -> list[Finding]:
    """Whether it is there, starts, and is as new as prime asks for."""
    try:
        path = find_uv()
        ended = run([path, "--version"], timeout=_SECONDS)
    except EnvironmentFailed as error:
        return [failed(NAME, error.message, error.hint or "install uv")]
    except (OSError, TimedOut) as error:
        return [failed(NAME, f"uv does not start: {error}", "`pip install --force-reinstall uv`")]
    found = _VERSION.match(ended.out)
    if not ended.ok or found is None:
        return [failed(NAME, f"{path} does not work", "`pip install --force-reinstall uv`")]
    return [judge(found[1], path)]


def judge(version: str, path: str) -> Finding:
    """Whether this version is what prime's own metadata asks for."""
    wanted = _wanted()
    if wanted is not None and not wanted.specifier.contains(version, prereleases=True):
        sentence = f"uv {version} at {path} is not what prime needs ({wanted.specifier})"
        return warned(NAME, sentence, f"`pip install '{wanted}'`")
    return ok(NAME, f"uv {version} at {path}")


def _wanted() -> Requirement | None:
    try:
        lines = metadata.requires("prime-cli") or []
    except metadata.PackageNotFoundError:
        return None
    own = (Requirement(line) for line in lines if line.startswith("uv"))
    return next((each for each in own if each.name == "uv"), None)
