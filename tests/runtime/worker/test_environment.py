"""Environments that cannot be imported or loaded: what is told, and of which stage."""

from pathlib import Path

from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import run_worker, small_spec


def test_an_import_that_fails_is_told_with_its_cause(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, "no_such_module"), log).ended
    assert (ended.ok, ended.stage) == (False, "import")
    assert ended.error is not None
    assert ended.error.type == "ModuleNotFoundError"


def test_a_module_that_exits_is_an_import_that_fails(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, "exits"), log).ended
    assert (ended.stage, ended.error and ended.error.type) == ("import", "SystemExit")


def test_load_environment_that_raises_is_told_without_wrapping(
    model: ScriptedModel, log: Path
) -> None:
    ended = run_worker(small_spec(model, args={"child": "/no/such/folder/pid"}), log).ended
    assert ended.stage == "load"
    assert ended.error is not None
    assert ended.error.type == "FileNotFoundError"


def test_missing_arguments_are_named_with_the_others(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, "needs"), log).ended
    assert ended.stage == "arguments"
    assert ended.error is not None
    assert ended.error.message == (
        "load_environment needs `path`, `split` (it takes: path, split, size=3)"
    )


def test_unknown_arguments_are_named(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, args={"cout": 3}), log).ended
    assert ended.stage == "arguments"
    assert ended.error is not None
    assert ended.error.message.startswith(
        "load_environment does not take `cout` (it takes: count=3"
    )
