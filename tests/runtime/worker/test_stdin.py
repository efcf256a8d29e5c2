"""Code that asks a person, or a debugger, in a process where nobody types."""

from pathlib import Path

import pytest

from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import Said, run_worker, small_spec

ASKING = {
    "input": "input('key: ')",
    "getpass": "import getpass; getpass.getpass()",
    "a prompt that insists": "import sys\nwhile not sys.stdin.readline(): pass",
}
READING = {
    "the descriptor": "import os; assert os.read(0, 1) == b''",
    "a pipe to its end": "import sys; assert sys.stdin.read() == '' and list(sys.stdin) == []",
    "a program": "import subprocess; assert subprocess.check_output(['cat']) == b''",
    "the terminal": "try: os.open('/dev/tty', os.O_RDWR)\nexcept OSError: pass\nelse: 1 / 0",
}
STOPPING = {
    "breakpoint": "breakpoint()",
    "set_trace": "import pdb; pdb.set_trace(); 1",
}


def run_code(code: str, where: str, tmp_path: Path, model: ScriptedModel) -> Said:
    """`code` at import, in load_environment, in a rollout or in a reward of an environment."""
    parts = dict.fromkeys(("import", "load", "rollout", "reward"), "pass")
    parts[where] = f"exec({code!r})"
    source = f"""
import verifiers as vf
{parts["import"]}
def correct(state):
    {parts["reward"]}
    return 1.0
class Asking(vf.Environment):
    async def rollout(self, *args, **kwargs):
        {parts["rollout"]}
        return await super().rollout(*args, **kwargs)
def load_environment():
    {parts["load"]}
    rows = [{{"prompt": [{{"role": "user", "content": "say word"}}], "answer": "", "info": {{}}}}]
    return Asking(rows, vf.Rubric([correct]))
"""
    (tmp_path / "asking.py").write_text(source, encoding="utf-8")
    spec = small_spec(model, "asking", n=1)
    spec.pythonpath.append(str(tmp_path))
    return run_worker(spec, tmp_path / "worker.log")


LOADING = [("import", "input"), ("import", "a prompt that insists"), ("load", "getpass")]
RUNNING = [("rollout", "input"), ("reward", "getpass")]


@pytest.mark.parametrize(("where", "how"), LOADING)
def test_what_asks_while_it_loads_ends_it(
    where: str, how: str, tmp_path: Path, model: ScriptedModel
) -> None:
    ended = run_code(ASKING[how], where, tmp_path, model).ended
    assert ended.error is not None
    assert (ended.stage, ended.error.type) == (where, "EOFError")
    assert ended.error.message == "it asks for input, and nobody can type here"


@pytest.mark.parametrize(("where", "how"), RUNNING)
def test_what_asks_later_is_an_error_of_the_environment(
    where: str, how: str, tmp_path: Path, model: ScriptedModel
) -> None:
    error = run_code(ASKING[how], where, tmp_path, model).row(0).error
    assert error is not None
    assert error.kind == "environment"
    assert "it asks for input, and nobody can type here" in error.message


def test_what_reads_finds_nothing(tmp_path: Path, model: ScriptedModel) -> None:
    said = run_code("\n".join(READING.values()), "load", tmp_path, model)
    assert said.ended.ok, said.ended.error
    assert said.rewards == {(0, 0): 1.0}


@pytest.mark.parametrize(("where", "how"), [("import", "breakpoint"), ("load", "set_trace")])
def test_a_debugger_while_it_loads_names_the_flag_it_needs(
    where: str, how: str, tmp_path: Path, model: ScriptedModel
) -> None:
    ended = run_code(STOPPING[how], where, tmp_path, model).ended
    assert ended.error is not None
    assert ended.stage == where
    assert ended.error.message == "a breakpoint stops only in a run with `--debug`"


@pytest.mark.parametrize(("where", "how"), [("rollout", "breakpoint"), ("reward", "set_trace")])
def test_a_debugger_ends_the_rollout_and_names_the_flag_it_needs(
    where: str, how: str, tmp_path: Path, model: ScriptedModel
) -> None:
    error = run_code(STOPPING[how], where, tmp_path, model).row(0).error
    assert error is not None
    assert error.kind == "environment"
    assert "a breakpoint stops only in a run with `--debug`" in error.message
