"""A git repository on this disk that holds a package, built by a backend of its own."""

import subprocess
from pathlib import Path

_PYPROJECT = """
[project]
name = "dataset-tools"
version = "1.5"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""

_BACKEND = '''
"""Builds without any package, as there is no index."""
import pathlib
import zipfile

INFO = "dataset_tools-1.5.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: dataset-tools\\nVersion: 1.5\\n"
WHEEL = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"


def build_wheel(directory, settings=None, metadata=None):
    name = "dataset_tools-1.5-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        wheel.write("dataset_tools.py")
        wheel.writestr(f"{INFO}/METADATA", METADATA)
        wheel.writestr(f"{INFO}/WHEEL", WHEEL)
        wheel.writestr(f"{INFO}/RECORD", "")
    return name
'''


def write_repository(folder: Path) -> str:
    """Commit `dataset-tools` 1.5, whose VERSION is `git`, below `folder`; returns its URL."""
    folder.mkdir(parents=True)
    files = {
        "pyproject.toml": _PYPROJECT,
        "backend.py": _BACKEND,
        "dataset_tools.py": "VERSION = 'git'\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    commit(folder)
    return folder.as_uri()


def commit(folder: Path) -> str:
    """Commit all changes; returns the full hash of the commit."""
    author = ["-c", "user.name=t", "-c", "user.email=t@t.invalid"]
    git(folder, *author, "commit", "--quiet", "--all", "--allow-empty", "--message", "More")
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    return done.stdout.strip()
