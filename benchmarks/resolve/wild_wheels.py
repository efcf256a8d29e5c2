"""Resolve and run wheels of random shapes, one at a time, as somebody types it.

    python -m benchmarks.resolve.wild_wheels --seed 7 --count 50

prints how each ended, on which verifiers, and what its first rollout took by part.
"""

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from prime_cli.core.process import run
from tests.helpers.wild import (
    OLD_MULTI_TURN,
    SINGLE_TURN,
    STOP_DECORATOR,
    TASKSET,
    TOOL_RUBRIC,
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
    "misspelt": (SINGLE_TURN, ("verifiers",), ("nltkk-of-nobody",)),
    "impossible": (SINGLE_TURN, ("verifiers",), ("six>=99",)),
    "uncompilable": (SINGLE_TURN, ("verifiers",), ("numpy==1.19.0",)),
}
"""By kind: source, requirements on verifiers to choose from, and other requirements."""

_FIRST = re.compile(r"First rollout after .*")
_RAN = re.compile(r"on (verifiers \S+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, wheel in wheels(Path(folder), random.Random(given.seed), given.count):
            began = time.monotonic()
            words = ("eval", "run", wheel, "-m", "builtin/oracle", "-n", "1", "-r", "1", "--new")
            done = run([sys.executable, "-m", "prime_cli", *words], cwd=Path(folder), timeout=600)
            first = _FIRST.search(done.err)
            ran = _RAN.search(done.out)
            error = next((line for line in done.err.splitlines() if line.startswith("error:")), "")
            told = f"{ran[1]}  {first[0] if first else ''}" if ran else error
            print(f"{time.monotonic() - began:6.1f} s  {done.code:3}  {name:14} {told}", flush=True)


def wheels(folder: Path, chance: random.Random, count: int) -> Iterator[tuple[str, Path]]:
    """`count` wheels whose kind and requirements are drawn by `chance`."""
    for number in range(count):
        kind = chance.choice(sorted(KINDS))
        source, verifiers, others = KINDS[kind]
        name = f"wild_{number}_{kind.replace('-', '_')}"
        requires = (chance.choice(verifiers), "datasets", *others)
        files = {f"{name}.py": f"{source}# {number}\n"}
        if kind == "v1":
            files = {f"{name}/__init__.py": files[f"{name}.py"]}
        yield kind, write_wheel(folder / "wheels", files, name=name, requires=requires)


if __name__ == "__main__":
    main()
