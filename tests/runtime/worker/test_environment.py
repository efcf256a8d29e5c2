"""Environments that cannot be imported or loaded: what is told, and of which stage."""

from pathlib import Path

import pytest

from prime_cli.runtime.causes import cause_of
from prime_cli.runtime.worker.environment import add_split
from prime_cli.runtime.worker.failures import StageFailed
from prime_cli.runtime.worker.spec import WorkerSpec
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import run_worker, small_spec


def spec(split: str, **args: object) -> WorkerSpec:
    return WorkerSpec("m", "m", "m", "http://x/v1", "t", args=args, options={"split": split})


def with_splits(train_split: str = "train", eval_split: str = "test") -> str:
    return train_split + eval_split


def without(count: int = 3) -> int:
    return count


def test_a_split_is_passed_as_its_argument() -> None:
    told = spec("validation")
    add_split(with_splits, told)
    assert told.args == {"eval_split": "validation"}
    assert told.said == ["The split `validation` is passed to load_environment as `eval_split`"]
    assert told.own_split is None


def test_an_environment_without_such_an_argument_has_its_own_two_datasets() -> None:
    told = spec("train")
    add_split(without, told)
    assert (told.args, told.own_split) == ({}, "train")
    with pytest.raises(StageFailed) as failed:
        add_split(without, spec("test"))
    assert failed.value.stage == "arguments"
    assert "`train` and `eval`, not `test`" in str(failed.value.error)


def test_a_split_is_not_given_twice() -> None:
    with pytest.raises(StageFailed) as failed:
        add_split(with_splits, spec("a", eval_split="b"))
    assert "given with `-a`, and again with `--split`" in str(failed.value.error)


def test_an_import_that_fails_is_reported_with_its_cause(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, "no_such_module"), log).ended
    assert (ended.ok, ended.stage) == (False, "import")
    assert ended.error is not None
    assert ended.error.type == "ModuleNotFoundError"


def test_a_module_that_exits_is_an_import_that_fails(model: ScriptedModel, log: Path) -> None:
    ended = run_worker(small_spec(model, "exits"), log).ended
    assert (ended.stage, ended.error and ended.error.type) == ("import", "SystemExit")


def test_load_environment_that_raises_is_reported_without_wrapping(
    model: ScriptedModel, log: Path
) -> None:
    ended = run_worker(small_spec(model, args={"child": "/no/such/folder/pid"}), log).ended
    assert ended.stage == "load"
    assert ended.error is not None
    assert ended.error.type == "FileNotFoundError"


def test_what_a_failed_load_was_raised_from_is_in_its_traceback(
    model: ScriptedModel, log: Path
) -> None:
    ended = run_worker(small_spec(model, "offline"), log).ended
    assert ended.error is not None
    assert (ended.error.type, ended.error.message) == ("RuntimeError", "no data")
    assert cause_of(ended.error.traceback or "") == "ConnectionError: no route to the data"


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
