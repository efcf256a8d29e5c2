"""The available Pythons: those that uv finds, including those of version managers."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.paths import executable_in
from prime_cli.core.process import TimedOut, run
from prime_cli.runtime.uv_tool import run_uv

_PROBE_SECONDS = 10
_COMPILE_SECONDS = 30
# `platform` knows both too, but takes longer to import than Python to start.
_PROBE = "import sys; print(sys.version.split()[0], sys.implementation.name)"


@dataclass(frozen=True)
class Python:
    """An interpreter that responded, and its version (`3.11.7`)."""

    path: Path
    version: str

    @property
    def minor(self) -> str:
        """`3.11` of `3.11.7`."""
        return ".".join(self.version.split(".")[:2])


class _Installation(msgspec.Struct, frozen=True):
    """One line of `uv python list`."""

    version: str
    path: str
    implementation: str
    variant: str = "default"

    @property
    def is_usual(self) -> bool:
        """Whether it is a CPython 3 that accepts the usual wheels."""
        is_cpython = (self.implementation, self.variant) == ("cpython", "default")
        return is_cpython and self.version.startswith("3.")


def find_pythons() -> list[Python]:
    """Every CPython 3 on this machine, one per version, starting with the one that runs prime.

    `uv python list` looks on PATH, at its own Pythons and in the registry of Windows; the folders
    of pyenv, Homebrew, conda, mise and asdf are added to its PATH, and their launch scripts and
    virtual environments left out. Raises ResolveFailed if uv fails.
    """
    listed = run_uv(
        ["python", "list", "--only-installed", "--output-format", "json", "--no-config"],
        offline=True,
        variables={"PATH": os.pathsep.join(map(str, _folders()))},
    )
    if not listed.ok:
        raise ResolveFailed("uv could not list the Pythons here", detail=listed.last_lines())
    found = {each.version: each for each in running_python()}
    for each in msgspec.json.decode(listed.out, type=list[_Installation]):
        if each.is_usual:
            found.setdefault(each.version, Python(Path(each.path), each.version))
    return list(found.values())


def running_python() -> Iterator[Python]:
    """The interpreter under prime's own virtual environment, else prime's own."""
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    base = Path(sys.base_prefix)
    files = (base / "bin" / f"python{minor}", base / "bin" / "python3", base / "python.exe")
    path = next((file for file in files if file.is_file()), Path(sys.executable))
    if sys.implementation.name == "cpython":
        yield Python(path, sys.version.split()[0])


def _folders() -> Iterator[Path]:
    """The folders in which uv looks for interpreters."""
    for name in os.environ.get("PATH", "").split(os.pathsep):
        # pyenv's launch scripts run whatever version is currently chosen, or fail.
        if name and Path(name).name != "shims" and not _in_virtual_environment(Path(name)):
            yield Path(name)
    for root, pattern in _installations(Path("~").expanduser()):
        yield from sorted(root.glob(pattern), reverse=True)
    yield from (Path("/usr/local/bin"), Path("/usr/bin"), Path("/opt/homebrew/bin"))


def _installations(home: Path) -> Iterator[tuple[Path, str]]:
    """Where version managers keep one folder per Python, and where its programs are in it."""
    environ = os.environ
    inside = "*" if sys.platform == "win32" else "*/bin"
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions", inside
    yield data / "mise" / "installs" / "python", inside
    yield Path(environ.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python", inside
    for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge"):
        yield home / name, "bin"
        yield home / name / "envs", inside
    yield Path("/opt/homebrew/opt"), "python@*/bin"
    yield Path("/usr/local/opt"), "python@*/bin"
    yield Path("/Library/Frameworks/Python.framework/Versions"), inside


def _in_virtual_environment(folder: Path) -> bool:
    return (folder.parent / "pyvenv.cfg").is_file()


def choose_python(
    requires: str | Iterable[str] | None,
    wanted: str | None = None,
    *,
    listing: Callable[[], list[Python]] = find_pythons,
) -> Python:
    """The first of `fitting_pythons`."""
    return fitting_pythons(requires, wanted, listing=listing)[0]


def fitting_pythons(
    requires: str | Iterable[str] | None,
    wanted: str | None = None,
    *,
    listing: Callable[[], list[Python]] = find_pythons,
) -> list[Python]:
    """The Pythons for a package, best first: those that fit all of `requires` (PEP 440).

    `wanted` is a path, a version (`3.12`, `3.12.1`) or a specifier (`>=3.11,<3.13`) and overrides
    `requires`. The Python that runs prime is best, then the newest. `listing` is called unless
    `wanted` is a path. Raises ResolveFailed if none fits.
    """
    if wanted is not None and _is_path(wanted):
        return [python_at(Path(wanted))]
    if wanted is not None:
        allowed = _wanted_versions(wanted)
    else:
        allowed = _specifiers([requires] if isinstance(requires, str) else requires or ())
    pythons = listing()
    fitting = [python for python in pythons if allowed.contains(python.version, prereleases=True)]
    if not fitting:
        raise _no_python(allowed, pythons)
    running = pythons[0]
    return sorted(fitting, key=lambda python: (python == running, _age(python)), reverse=True)


def _age(python: Python) -> tuple[bool, Version]:
    version = Version(python.version)
    return not version.is_prerelease, version


def python_at(path: Path) -> Python:
    """The interpreter at `path`, or in the virtual environment at `path`; raises ResolveFailed."""
    path = path.expanduser()
    inside = executable_in(path) if path.is_dir() else path
    # Not resolved: a virtual environment's Python is a link, and must stay one.
    executable = Path.cwd() / inside
    version = _ask_version(executable)
    if version is None:
        raise ResolveFailed(
            f"{path} is not a working Python",
            hint="pass an interpreter, a virtual environment or a version such as `3.12`",
        )
    return Python(executable, version)


def version_fits(version: str, wanted: str) -> bool:
    """Whether a Python of `version` satisfies `wanted` (a version or specifier)."""
    return _wanted_versions(wanted).contains(version, prereleases=True)


def _no_python(allowed: SpecifierSet, pythons: list[Python]) -> ResolveFailed:
    minors = sorted({python.minor for python in pythons}, key=Version)
    return ResolveFailed(
        f"No installed Python matches {str(allowed) or 'the request'}; found {', '.join(minors)}",
        hint=f"install one with `uv python install '{str(allowed) or '3.12'}'`",
    )


def _specifiers(texts: Iterable[str]) -> SpecifierSet:
    combined = SpecifierSet()
    for text in texts:
        try:
            combined &= SpecifierSet(text)
        except InvalidSpecifier as error:
            raise ResolveFailed(
                f"`{text}` in the package's `requires-python` is not a version specifier"
            ) from error
    return combined


def _is_path(wanted: str) -> bool:
    return "/" in wanted or os.sep in wanted or Path(wanted).exists()


def _wanted_versions(wanted: str) -> SpecifierSet:
    number = wanted.removeprefix("python")
    try:
        if re.fullmatch(r"\d+\.\d+", number):
            return SpecifierSet(f"=={number}.*")
        if re.fullmatch(r"\d+(\.\d+){2}\w*", number):
            return SpecifierSet(f"=={Version(number)}")
        return SpecifierSet(number)
    except (InvalidSpecifier, InvalidVersion) as error:
        raise ResolveFailed(
            f"`{wanted}` is neither a Python version nor a path",
            hint="write `--python 3.12` or `--python path/to/python`",
        ) from error


def _ask_version(path: Path) -> str | None:
    """Its version if it is a working CPython 3."""
    try:
        completed = run([path, "-I", "-c", _PROBE], timeout=_PROBE_SECONDS)
    except (OSError, TimedOut):
        return None
    version, _, implementation = completed.out.strip().partition(" ")
    usable = completed.ok and implementation == "cpython" and version.startswith("3.")
    return version if usable else None


def can_compile(python: Python, source: str) -> bool:
    """Whether `source` is syntax of `python`; nothing of it is run."""
    code = "import sys; compile(sys.stdin.buffer.read(), '<stdin>', 'exec')"
    with suppress(OSError, TimedOut):
        return run([python.path, "-I", "-c", code], input=source, timeout=_COMPILE_SECONDS).ok
    return False
