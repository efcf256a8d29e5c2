"""The Pythons at hand: found without trusting PATH, remembered by path and time of change."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from prime_cli.core.errors import ResolveFailed, StorageFailed
from prime_cli.core.paths import prime_home, write_atomically
from prime_cli.core.process import TimedOut, run

# Newest first.
_MINORS = ("3.15", "3.14", "3.13", "3.12", "3.11", "3.10")


def candidate_files() -> Iterator[Path]:
    """Files that may be a Python, likeliest first, each once; those of prime itself lead."""
    return _unique(_candidates())


def _unique(paths: Iterable[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        try:
            real = path.resolve(strict=True)
        except OSError:
            continue
        if real not in seen:
            seen.add(real)
            yield path


def _candidates() -> Iterator[Path]:
    yield from _running()
    for folder in _folders():
        for minor in _MINORS:
            yield folder / f"python{minor}"
        yield folder / "python3"
        if sys.platform == "win32":
            yield folder / "python.exe"


def _running() -> Iterator[Path]:
    """The interpreter under prime's own virtual environment, then prime's own."""
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    base = Path(sys.base_prefix)
    yield from (base / "bin" / f"python{minor}", base / "bin" / "python3", base / "python.exe")
    yield Path(sys.executable)


def _folders() -> Iterator[Path]:
    for name in os.environ.get("PATH", "").split(os.pathsep):
        # pyenv's launch scripts answer for whatever version is chosen at the moment, or fail.
        if name and Path(name).name != "shims" and not _in_virtual_environment(Path(name)):
            yield Path(name)
    home = Path("~").expanduser()
    for root, pattern in _installations(home):
        yield from sorted(root.glob(pattern), reverse=True)
    yield from (Path("/usr/local/bin"), Path("/usr/bin"), Path("/opt/homebrew/bin"))


def _installations(home: Path) -> Iterator[tuple[Path, str]]:
    """Folders in which version managers keep one folder a Python, and where its `bin` is."""
    environ = os.environ
    inside = "*" if sys.platform == "win32" else "*/bin"
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions", inside
    yield Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"), inside
    yield data / "mise" / "installs" / "python", inside
    yield Path(environ.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python", inside
    for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge"):
        yield home / name, "bin"
        yield home / name / "envs", inside
    yield Path("/opt/homebrew/opt"), "python@*/bin"
    yield Path("/usr/local/opt"), "python@*/bin"
    yield Path("/Library/Frameworks/Python.framework/Versions"), inside
    if sys.platform == "win32":
        programs = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Programs"
        yield programs / "Python", "Python3*"
        yield Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "uv" / "python", "*"


def _in_virtual_environment(folder: Path) -> bool:
    return (folder.parent / "pyvenv.cfg").is_file()


_PROBE_SECONDS = 10
# `platform` knows both too, and takes longer to import than Python to start.
_PROBE = "import sys; print(sys.version.split()[0], sys.implementation.name)"


@dataclass(frozen=True)
class Python:
    """An interpreter that answered, and the version it gave (`3.11.7`)."""

    path: Path
    version: str

    @property
    def minor(self) -> str:
        """`3.11` of `3.11.7`."""
        return ".".join(self.version.split(".")[:2])


class _Answer(msgspec.Struct, frozen=True):
    """What a probe of one file gave; `version` None means it is no CPython that runs."""

    changed_ns: int
    size: int
    version: str | None


def find_pythons() -> list[Python]:
    """Every CPython 3 found on this machine, the one that runs prime first, one a version.

    Looks at PATH, pyenv, uv, Homebrew, conda, mise, asdf and the usual folders. Each file is
    asked for its version once; the answers are kept in `$PRIME_HOME/cache/pythons.json` until the
    file changes. Launch scripts of pyenv are passed over: what they start is found itself.
    """
    remembered = _load_answers()
    answers: dict[str, _Answer] = {}
    found: dict[str, Python] = {}
    for path in candidate_files():
        answer = _answer(path, remembered)
        if answer is None:
            continue
        answers[str(path)] = answer
        if answer.version is not None:
            found.setdefault(answer.version, Python(path, answer.version))
    if answers != remembered:
        _save_answers(answers)
    return list(found.values())


def choose_python(requires: str | Iterable[str] | None, wanted: str | None = None) -> Python:
    """The first of `fitting_pythons`."""
    return fitting_pythons(requires, wanted)[0]


def fitting_pythons(
    requires: str | Iterable[str] | None, wanted: str | None = None
) -> list[Python]:
    """The Pythons for a package, best first: those that fit all of `requires` (PEP 440).

    `wanted` is a path, a version (`3.12`, `3.12.1`) or a specifier (`>=3.11,<3.13`) and overrules
    `requires`. The Python that runs prime is best, then the newest. Raises ResolveFailed when
    none fits.
    """
    if wanted is not None and _is_path(wanted):
        return [python_at(Path(wanted))]
    if wanted is not None:
        allowed = _wanted_versions(wanted)
    else:
        allowed = _specifiers([requires] if isinstance(requires, str) else requires or ())
    pythons = find_pythons()
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
    answer = _answer(executable, {})
    if answer is None or answer.version is None:
        raise ResolveFailed(
            f"{path} is not a working Python",
            hint="pass an interpreter, a virtual environment or a version such as `3.12`",
        )
    return Python(executable, answer.version)


def version_fits(version: str, wanted: str) -> bool:
    """Whether a Python of `version` is what `wanted` (a version or specifier) asks for."""
    return _wanted_versions(wanted).contains(version, prereleases=True)


def executable_in(environment: Path) -> Path:
    """Where a virtual environment keeps its interpreter on this system."""
    if sys.platform == "win32":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"


def _no_python(allowed: SpecifierSet, pythons: list[Python]) -> ResolveFailed:
    minors = sorted({python.minor for python in pythons}, key=Version)
    return ResolveFailed(
        f"No installed Python matches {str(allowed) or 'the request'}; found {', '.join(minors)}",
        hint="install one, for example with `uv python install 3.12`",
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


def _answer(path: Path, remembered: dict[str, _Answer]) -> _Answer | None:
    """What `path` is; None when there is no such file, or it cannot be asked now.

    That is no answer to keep: a machine that is too busy today may have time tomorrow.
    """
    try:
        status = path.stat()
        known = remembered.get(str(path))
        if known and (known.changed_ns, known.size) == (status.st_mtime_ns, status.st_size):
            return known
        return _Answer(status.st_mtime_ns, status.st_size, _ask_version(path))
    except (OSError, TimedOut):
        return None


def _ask_version(path: Path) -> str | None:
    """Its version if it is a CPython 3; raises OSError or TimedOut when it cannot be asked."""
    completed = run([path, "-I", "-c", _PROBE], timeout=_PROBE_SECONDS)
    version, _, implementation = completed.out.strip().partition(" ")
    usable = completed.ok and implementation == "cpython" and version.startswith("3.")
    return version if usable else None


def _answers_file() -> Path:
    return prime_home() / "cache" / "pythons.json"


def _load_answers() -> dict[str, _Answer]:
    try:
        content = _answers_file().read_bytes()
        return msgspec.json.decode(content, type=dict[str, _Answer])
    except (OSError, msgspec.MsgspecError):
        return {}


def _save_answers(answers: dict[str, _Answer]) -> None:
    try:
        write_atomically(_answers_file(), msgspec.json.encode(answers))
    except StorageFailed:
        # Only a cache: a home that cannot be written is told by whoever must write to it.
        return
