"""A worker that has the terminal, for somebody who debugs."""

import sys
from pathlib import Path

import pytest

from tests.helpers.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")

ROOT = Path(__file__).parents[2]
WATCH = """
import asyncio, sys
from pathlib import Path
from prime_cli.evals.execution.session_setup import without_deadlines
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import Rollout
from prime_cli.runtime.variables import share
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import small_spec
import os

async def main():
    with ScriptedModel() as model:
        spec = without_deadlines(small_spec(model, "debugged", n=1, timeout_s=0.1))
        spec.pythonpath.append(sys.argv[1])
        worker = Worker(
            Path(sys.executable), spec, env=share(os.environ).given,
            log_path=Path(sys.argv[1], "log"), terminal=True,
        )
        async with worker:
            async for event in worker.events():
                if isinstance(event, Rollout):
                    print("reward", event.reward)

asyncio.run(main())
"""
ENVIRONMENT = """
import verifiers as vf

def deep(n):
    return deeper(n) if n else {}["the bottom"]

def deeper(n):
    return deep(n - 1)

def judged(state):
    name = input("your name? ")
    breakpoint()
    try:
        deep(30)
    except KeyError as error:
        raise ValueError("deep down") from error

def load_environment():
    rows = [{"prompt": [{"role": "user", "content": "w"}], "answer": "", "info": {}}]
    return vf.Environment(rows, vf.Rubric([judged]))
"""


def test_questions_and_breakpoints_are_answered_at_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "debugged.py").write_text(ENVIRONMENT, encoding="utf-8")
    program = (sys.executable, "-c", WATCH, str(tmp_path))
    with Terminal(cwd=ROOT, program=program) as terminal:
        terminal.wait_for("your name?")
        terminal.type("ada\n")
        terminal.wait_for("(Pdb)")
        terminal.type("name * 2\n")
        terminal.wait_for("'adaada'")
        terminal.type("c\n")
        assert terminal.end() == 0
        assert terminal.is_clean
    assert terminal.text.count("in deeper") == 30
    assert "ValueError: deep down" in terminal.text
    assert "reward None" in terminal.text
    assert (tmp_path / "log").read_bytes() == b""
