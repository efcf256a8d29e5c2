"""Compile the libraries of environments once, for all that the tests of `.ci/run` install.

uv links the files of a package from its cache, so what Python has compiled there comes along: a
first run in a new interpreter then takes 4 seconds of a processor instead of 10. Evaluates an
environment for each generation of verifiers, and links the bytecode that these runs have left
beside its sources in uv's cache.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.helpers.wild import WILD, Shape, write_project

SHAPES = {"v0-env": Shape(name="v0-env"), "v1-env": WILD["v1"]}


def main() -> None:
    cache = subprocess.run(["uv", "cache", "dir"], check=True, stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        for name, shape in SHAPES.items():
            evaluate(write_project(Path(folder, name), shape), home)
        count = link(home / "interpreters", sources(Path(cache.stdout.strip(), "archive-v0")))
    print(f"{count} compiled files are in uv's cache")


def evaluate(project: Path, home: Path) -> None:
    words = ["prime", "eval", "run", str(project), "-m", "builtin/oracle", "-n", "1", "-r", "1"]
    variables = {**os.environ, "PRIME_HOME": str(home), "PRIME_UPSTREAM": "none"}
    subprocess.run(words, check=True, env=variables, cwd=project, stdout=subprocess.DEVNULL)


def sources(folder: Path) -> dict[int, Path]:
    """The Python files below `folder` by their inode, which uv's links share."""
    return {entry.inode(): Path(entry.path) for entry in python_files(folder)}


def python_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from python_files(Path(entry.path))
        elif entry.name.endswith(".py"):
            yield entry


def link(made: Path, cached: dict[int, Path]) -> int:
    """Put the bytecode below `made` beside the cached sources; how many files that were."""
    count = 0
    for compiled in made.rglob("__pycache__/*.pyc"):
        source = compiled.parent.parent / f"{compiled.name.partition('.')[0]}.py"
        with suppress(FileNotFoundError, FileExistsError):
            beside = cached.get(source.stat().st_ino)
            if beside is not None:
                (beside.parent / "__pycache__").mkdir(exist_ok=True)
                os.link(compiled, beside.parent / "__pycache__" / compiled.name)
                count += 1
    return count


if __name__ == "__main__":
    main()
