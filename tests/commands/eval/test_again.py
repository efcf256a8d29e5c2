"""Reruns, rescores, replays and the cache as users type them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.paths import prime_home
from tests.evals.rerun.live import LENGTHS, numbered
from tests.helpers.cli import Prime, prime_process
from tests.helpers.scripted_model import ScriptedModel

SECONDS = 600

PROJECT = """
[project]
name = "lengths"
version = "0.1.0"
requires-python = ">=3.11,<3.14"
dependencies = ["verifiers>=0.1.14,<0.2"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build]
include = ["lengths.py"]
"""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(numbered()) as scripted:
        yield scripted


def typed(folder: Path, *argv: str, code: int = 0) -> Any:
    done = prime_process("eval", *argv, "--output", "json", cwd=folder, timeout=SECONDS)
    assert done.code == code, done.err
    return done if code else done.json


@pytest.mark.slow
def test_a_run_is_rerun_rescored_and_replayed(model: ScriptedModel, tmp_path: Path) -> None:
    project = tmp_path / "lengths"
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (project / "lengths.py").write_text(LENGTHS, encoding="utf-8")
    flags = ("-m", "scripted", "-b", model.url, "-k", "NO_KEY", "-n", "2", "-r", "2", "-T", "0.5")
    run = typed(tmp_path, "run", "./lengths", *flags)
    run_id = run["run_id"]
    asked = [(call.body["messages"], call.body["temperature"]) for call in model.calls]

    # The project changes; the run's own wheel is kept.
    (project / "lengths.py").write_text(LENGTHS.replace("float(len(", "-float(len("), "utf-8")
    again = typed(tmp_path, "rerun", run_id)
    repeated = [(call.body["messages"], call.body["temperature"]) for call in model.calls[4:]]
    assert sorted(map(str, repeated)) == sorted(map(str, asked))
    assert again["summary"]["environment"]["sha256"] == run["environment"]["sha256"]
    assert again["changes"]["different"] == 4

    replayed = typed(tmp_path, "rerun", run_id, "-m", f"builtin/replay:{run_id}")
    assert (replayed["changes"]["same"], replayed["changes"]["different"]) == (4, 0)
    scored = typed(tmp_path, "rescore", run_id, "--environment", "./lengths")
    assert scored["summary"]["reward"]["mean"] == -run["reward"]["mean"]
    replay = typed(tmp_path, "run", "./lengths", "-m", f"builtin/replay:{run['path']}")
    assert replay["rollouts"] == scored["summary"]["rollouts"]
    assert len(model.calls) == 8

    # Neither the list of packages nor the wheel is to be had any more.
    for lock in (prime_home() / "locks").iterdir():
        lock.unlink()
    assert typed(tmp_path, "rescore", run_id)["changes"]["different"] == 0  # by lock.json
    (Path(run["path"]) / "lock.json").unlink()
    for lock in (prime_home() / "locks").iterdir():
        lock.unlink()
    lost = typed(tmp_path, "rerun", run_id, code=7)
    assert "its package list is lost" in lost.err
    for wheel in (prime_home() / "wheels").rglob("*.whl"):
        wheel.unlink()
    lost = typed(tmp_path, "rerun", run_id, code=7)
    assert "its environment has changed" in lost.err
    assert "sha256: was" in lost.err


@pytest.mark.slow
def test_a_second_run_with_the_cache_calls_no_model_and_reports_it(
    model: ScriptedModel, tmp_path: Path
) -> None:
    flags = ("starter/reverse-text", "-m", "scripted", "-b", model.url, "-k", "NO_KEY", "-n", "2")
    first = typed(tmp_path, "run", *flags, "-r", "2", "--cache")
    assert len(model.calls) == 4
    second = prime_process(
        "eval", "run", *flags, "-r", "3", "--cache", cwd=tmp_path, timeout=SECONDS
    ).ok()
    assert len(model.calls) == 6
    assert "4 of 6 calls from the cache" in second.out
    assert first["usage"]["calls"] == 4
    third = typed(tmp_path, "run", *flags, "-r", "2", "--cache")
    assert (third["usage"]["calls"], third["usage"]["hits"]) == (0, 4)
    assert third["usage"]["input"] == 0
    assert third["rollouts"] == first["rollouts"]
    typed(tmp_path, "run", *flags, "-r", "1")
    assert len(model.calls) == 8


@pytest.mark.parametrize("command", ["rerun", "rescore"])
def test_a_run_that_is_neither_here_nor_on_the_hub_ends_with_6(
    command: str, prime: Prime, tmp_path: Path
) -> None:
    result = prime("eval", command, "1f2e3d4c", cwd=tmp_path)
    assert result.code == 6
    assert "No local run `1f2e3d4c`, and no such evaluation on the hub" in result.err


def test_a_replay_of_a_run_that_is_not_here_ends_with_6(prime: Prime, tmp_path: Path) -> None:
    argv = ("eval", "run", "starter/reverse-text", "-m", "builtin/replay:1f2e3d4c")
    result = prime(*argv, cwd=tmp_path)
    assert result.code == 6
    assert "No local run `1f2e3d4c`" in result.err
