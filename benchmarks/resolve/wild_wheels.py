"""Resolve and run wheels and folders of random shapes, one at a time, as somebody types it.

    python -m benchmarks.resolve.wild_wheels --seed 7 --count 50

prints how each ended, on which verifiers, and what its first rollout took by part.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from prime_cli.core.process import run
from tests.helpers.wild import (
    ASKS_FOR_INPUT,
    EARLY_V1,
    OLD_MULTI_TURN,
    SINGLE_TURN,
    STOP_DECORATOR,
    TASKSET,
    TOOL_RUBRIC,
    Shape,
    write_project,
    write_wheel,
)

_MADE = "    data = Dataset.from_list(rows)\n"
_LATE = "    getattr(vf, 'Tool' + 'Rubric')\n" + _MADE
KINDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "plain": (SINGLE_TURN, ("verifiers", "verifiers>=0.1.9", "verifiers>=0.1.14,<0.4"), ()),
    "old": (OLD_MULTI_TURN, ("verifiers>=0.1.3", "verifiers>=0.1.5"), ()),
    "stop": (STOP_DECORATOR, ("verifiers>=0.1.8", "verifiers"), ()),
    "tool-rubric": (TOOL_RUBRIC, ("verifiers", "verifiers>=0.1.5"), ()),
    "v1": (TASKSET, ("verifiers", "verifiers>=0.3"), ()),
    "task-times": (
        SINGLE_TURN.replace(_MADE, f"{_MADE}    data = data.add_column('task', ['train'] * 4)\n"),
        ("verifiers",),
        (),
    ),
    "task-map": (
        SINGLE_TURN.replace(_MADE, f"{_MADE}    data = data.map(lambda r: {{'task': ''}})\n"),
        ("verifiers",),
        (),
    ),
    "late-name": (SINGLE_TURN.replace(_MADE, _LATE), ("verifiers",), ()),
    "early-v1": (EARLY_V1, ("verifiers", "verifiers>=0.1.14"), ()),
    "stdin": (ASKS_FOR_INPUT, ("verifiers", "verifiers>=0.1.9"), ()),
    "stdin-import": (f"{SINGLE_TURN}\nimport getpass\ngetpass.getpass()\n", ("verifiers",), ()),
    "breakpoint": (f"{SINGLE_TURN}\nbreakpoint()\n", ("verifiers",), ()),
    "forgotten": (f"import nltk\n{SINGLE_TURN}", ("verifiers",), ()),
    "uv.lock": (OLD_MULTI_TURN, ("verifiers",), ()),
    "results": (TOOL_RUBRIC, ("verifiers",), ()),
    "git": (OLD_MULTI_TURN, ("verifiers",), ()),
    "misspelt": (SINGLE_TURN, ("verifiers",), ("nltkk-of-nobody",)),
    "impossible": (SINGLE_TURN, ("verifiers",), ("six>=99",)),
    "uncompilable": (SINGLE_TURN, ("verifiers",), ("numpy==1.19.0",)),
}
"""By kind: source, requirements on verifiers to choose from, and other requirements."""


def _write_lock(folder: Path) -> None:
    locked = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        'source = { registry = "https://index.invalid/simple" }\n'
        for name, version in (("verifiers", "0.1.5"), ("six", "1.16.0"))
    )
    (folder / "uv.lock").write_text(f"version = 1\n{locked}", encoding="utf-8")


def _write_results(folder: Path) -> None:
    results = folder / "outputs" / "evals" / "tiny--m" / "1"
    results.mkdir(parents=True)
    told = json.dumps({"version_info": {"vf_version": "0.1.5"}})
    (results / "metadata.json").write_text(told, encoding="utf-8")


def _commit(folder: Path) -> None:
    day = "2025-10-01T12:00:00+00:00"
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "x", "--date", day)):
        subprocess.run(
            ["git", "-C", folder, *words],
            check=True,
            env={**os.environ, "GIT_COMMITTER_DATE": day},
        )


_BESIDE = {"uv.lock": _write_lock, "results": _write_results, "git": _commit}
"""By kind that is a folder: what writes the evidence beside its package."""

_FIRST = re.compile(r"First rollout after .*")
_RAN = re.compile(r"on (verifiers \S+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, package in packages(Path(folder), random.Random(given.seed), given.count):
            began = time.monotonic()
            words = ("eval", "run", package, "-m", "builtin/oracle", "-n", "1", "-r", "1", "--new")
            done = run([sys.executable, "-m", "prime_cli", *words], cwd=Path(folder), timeout=600)
            first = _FIRST.search(done.err)
            ran = _RAN.search(done.out)
            error = next((line for line in done.err.splitlines() if line.startswith("error:")), "")
            told = f"{ran[1]}  {first[0] if first else ''}" if ran else error
            print(f"{time.monotonic() - began:6.1f} s  {done.code:3}  {name:14} {told}", flush=True)


def packages(folder: Path, chance: random.Random, count: int) -> Iterator[tuple[str, Path]]:
    """`count` wheels or folders whose kind and requirements are drawn by `chance`."""
    for number in range(count):
        kind = chance.choice(sorted(KINDS))
        source, verifiers, others = KINDS[kind]
        name = f"wild_{number}_{re.sub('[^a-z0-9]', '_', kind)}"
        requires = (chance.choice(verifiers), "datasets", *others)
        body = f"{source}# {number}\n"
        if kind in _BESIDE:
            shape = Shape(name=name, module=name, body=body, dependencies=requires)
            project = write_project(folder / name, shape)
            _BESIDE[kind](project)
            yield kind, project
            continue
        file = f"{name}/__init__.py" if kind == "v1" else f"{name}.py"
        yield kind, write_wheel(folder / "wheels", {file: body}, name=name, requires=requires)


if __name__ == "__main__":
    main()
