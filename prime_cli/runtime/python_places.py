"""Where Pythons are installed on the systems that people use; nothing is run here."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

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
