"""The rows that a model is fine-tuned on."""

import json
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.progress import Silent
from prime_cli.training.fine_tuning import copy_data, find_data, leave_out_held_out
from prime_cli.training.request import TrainRequest
from tests.runs.rows import row
from tests.runs.saving import save_run


def said(question: str, answer: str = "yes") -> dict[str, Any]:
    return {
        "prompt": [{"role": "user", "content": question}],
        "completion": [{"role": "assistant", "content": answer}],
    }


def line(question: str, **more: Any) -> dict[str, Any]:
    one = said(question)
    return {"messages": [*one["prompt"], *one["completion"]], **more}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def questions(folder: Path) -> list[str]:
    lines = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(each)["messages"][0]["content"] for each in lines]


def test_data_are_a_file_of_rows_or_a_run(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", line("a?"))
    assert find_data(TrainRequest(sft=True, data="rows.jsonl"), tmp_path) == str(file)
    run = save_run(tmp_path, row(0))
    assert find_data(TrainRequest(sft=True, data=run.run_id), tmp_path) == str(run.path)
    assert find_data(TrainRequest(), tmp_path) is None


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        (TrainRequest(sft=True), UsageError, "needs rows to learn"),
        (TrainRequest(data="x"), UsageError, "with `--sft` alone"),
        (TrainRequest(sft=True, data="a/dataset"), NotFound, "no file of rows and no evaluation"),
        (TrainRequest(sft=True, data="empty.jsonl"), UsageError, "has no rows"),
        (TrainRequest(sft=True, data="asked.jsonl"), UsageError, "line 1 has no answer to learn"),
        (TrainRequest(sft=True, data="texts.jsonl"), UsageError, "line 1 is no row with"),
    ],
)
def test_data_that_cannot_be_learned_are_refused_before_anything_starts(
    request_: TrainRequest, error: type[Exception], says: str, tmp_path: Path
) -> None:
    write(tmp_path / "empty.jsonl")
    write(tmp_path / "asked.jsonl", {"messages": [{"role": "user", "content": "a?"}]})
    write(tmp_path / "texts.jsonl", {"text": "a"})
    with pytest.raises(error, match=says):
        find_data(request_, tmp_path)


def test_of_a_run_the_best_rollouts_are_learned(tmp_path: Path) -> None:
    run = save_run(tmp_path, row(0, 0, 0.5, **said("a?")), row(0, 1, 1.0, **said("a?", "no")))
    progress = Silent()
    copy_data(str(run.path), tmp_path, progress)
    lines = (tmp_path / "data.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(each)["reward"] for each in lines] == [1.0]
    assert progress.said == ["Rows: 1 row of 1 rollout; left out: 1 not the best of their group"]


def test_rows_of_held_out_examples_are_not_learned(tmp_path: Path) -> None:
    evaluation = save_run(tmp_path, row(7, **said("held out?")))
    whole = line("held out?", example_id=3)
    compacted = line("in short", example_id=3)
    write(tmp_path / "data.jsonl", line("a?", example_id=1), whole, compacted, line("b?"))
    assert leave_out_held_out(tmp_path, [evaluation.path]) == 2
    assert questions(tmp_path) == ["a?", "b?"]
    write(tmp_path / "data.jsonl", whole)
    with pytest.raises(UsageError, match="All rows are of examples"):
        leave_out_held_out(tmp_path, [evaluation.path])
