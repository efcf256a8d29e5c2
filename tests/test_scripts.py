"""Whole journeys as a user types them: each file of tests/scripts is run and compared."""

import json
import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from prime_cli.training.engines.catalogue import find_engine
from tests.helpers.cli import prime_process
from tests.helpers.real_model import use_smollm2
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, echo, status
from tests.helpers.scripts import Script, Step, matches, read_script
from tests.helpers.tools import require

pytestmark = pytest.mark.slow

_REACHING_PODS = ("pods",)
TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
SCRIPTS_ON_PYPI = Path(__file__).parent / "scripts" / "network"
SCRIPTS = [
    *sorted((Path(__file__).parent / "scripts").glob("*.txt")),
    pytest.param(TUTORIAL, marks=pytest.mark.slow),
]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model server that says back what it is told; scripts know its port as $MODEL_PORT.

    It refuses the key `wrong-key`, as those services do that list their models to everybody. Its
    model `undecided` says `Paris` and something wordy in turn.
    """
    turns = cycle(("Paris", "Well, that is hard to say"))

    def answer(request: Received) -> Reply:
        if request.headers.get("authorization") == "Bearer wrong-key":
            return status(401, message="Incorrect API key provided")
        undecided = (request.body or {}).get("model") == "undecided"
        return Reply(next(turns)) if undecided else echo(request)

    with ScriptedModel(answer, models=("scripted", "undecided")) as scripted:
        yield scripted


@pytest.fixture
def judge() -> Iterator[ScriptedModel]:
    """Another such server, that no gateway stands before; scripts know its port as $JUDGE_PORT."""
    with ScriptedModel() as scripted:
        yield scripted


@pytest.mark.sample(4, "path")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_transcript_is_what_happens(
    path: Path,
    model: ScriptedModel,
    judge: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if path.stem in _REACHING_PODS:
        require("sshd", "/usr/sbin/sshd")
        require("scp")
    monkeypatch.setenv("MODEL_PORT", str(model.port))
    monkeypatch.setenv("JUDGE_PORT", str(judge.port))
    _play(path, tmp_path, monkeypatch)


@pytest.mark.network
def test_a_newcomer_evaluates_and_trains_a_real_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_smollm2(monkeypatch, find_engine("trl"))
    _play(SCRIPTS_ON_PYPI / "real_model.txt", tmp_path, monkeypatch, seconds=1800)
    (results,) = (tmp_path / "outputs" / "evals").glob("*/*/results.jsonl")
    rows = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    answers = {row["completion"][-1]["content"] for row in rows}
    # Drawn anew for each rollout, where a model that says back what it hears has two.
    assert len(answers) > 2


def _play(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 300
) -> None:
    """Type the commands of a transcript in `tmp_path`; each must answer as it says."""
    script = read_script(path)
    _write_files(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    for step in script.steps:
        match step.command:
            case ["cd", folder]:
                monkeypatch.chdir(folder)
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                monkeypatch.setenv(name, os.path.expandvars(value))
            case ["prime", *argv]:
                _run(step, argv, path, seconds)
            case _:
                pytest.fail(f"{path.name}:{step.line}: only prime, cd and export are run")


def _run(step: Step, argv: list[str], path: Path, seconds: float) -> None:
    result = prime_process(*map(os.path.expandvars, argv), merged=True, timeout=seconds)
    told = f"{path.name}:{step.line}: $ prime {' '.join(argv)}\n{result.out}[exit {result.code}]"
    if result.code != step.code or not matches(step.expected, result.out.splitlines()):
        pytest.fail(told, pytrace=False)


def _write_files(script: Script, folder: Path) -> None:
    for name, text in script.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(os.path.expandvars(text), encoding="utf-8")


def test_wildcards_match_within_a_line_and_over_lines() -> None:
    said = ["Built x-1.whl", "one", "two", "done"]
    assert matches(["Built [..].whl", "...", "done"], said)
    assert not matches(["Built [..].tar", "...", "done"], said)
    assert not matches(["Built [..]", "done"], said)
