"""One session of a run, as a process that can be killed: a new run, or the rest of an earlier one.

    python -m tests.helpers.kills.session FOLDER URL '{"module": "tiny_env", …}'

The environment's interpreter is in FOLDER/venv; the run lies below FOLDER/runs.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.models.prices import Price
from prime_cli.runs.folder import RunFolder
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.live_run import run_live


@dataclass(frozen=True)
class Kind:
    """An environment and how much of it is run; `usd` is the price of a million tokens."""

    name: str
    generation: str
    module: str
    verifiers: str
    source: str
    examples: int = 12
    rollouts: int = 2
    concurrency: int = 4
    usd: float | None = None
    fail_fast: bool = True

    @property
    def planned(self) -> int:
        return self.examples * self.rollouts

    def interpreter(self, folder: Path) -> Interpreter:
        """The one that `interpreter_with` made in `folder`."""
        python = folder / "venv" / "bin" / "python"
        digest = "0" * 64
        return Interpreter(
            python, digest, self.verifiers, self.generation, "test", self.module, "3"
        )

    def plan(self) -> dict[str, Any]:
        """What it changes in the plan of `tests.helpers.live_run`."""
        return {
            "num_examples": self.examples,
            "rollouts_per_example": self.rollouts,
            "concurrency": self.concurrency,
            "fail_fast": self.fail_fast,
            "price": None if self.usd is None else Price(self.usd, self.usd),
        }


def run_folder(below: Path) -> RunFolder | None:
    """The one run below a folder, once it has been written down."""
    found = sorted(below.glob("outputs/evals/*/*/run.json"))
    assert len(found) < 2, found
    return RunFolder(found[0].parent) if found else None


def main(folder: Path, url: str, kind: Kind) -> None:
    """Run to the end; raises what the run raises."""
    below = folder / "runs"
    interpreter = kind.interpreter(folder)
    run_live(below, interpreter, url, resumed=run_folder(below), **kind.plan())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Kind(**json.loads(sys.argv[3])))
