"""Logs of inspect_ai become runs; the fast tests read lines in the form of `inspect_samples.py`."""

import json
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run
from prime_cli.evals.imports.inspect_logs import read_samples
from prime_cli.runs.rows import Row
from prime_cli.runtime.uv_tool import find_uv
from tests.helpers.cli import Prime

LOG: dict[str, Any] = {
    "status": "success",
    "eval": {
        "task": "sums",
        "model": "org/model",
        "created": "2026-01-02T03:04:05+00:00",
        "dataset": {"sample_ids": ["b", "a"]},
        "config": {"epochs": 1},
        "scorers": [{"name": "match"}, {"name": "graded"}],
    },
}
USED = {"org/model": {"input_tokens": 5, "output_tokens": 3}}


def sample(name: Any = "a", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]
    output = {"model": "org/model", "choices": [{"stop_reason": "stop"}]}
    told = {"id": name, "epoch": 1, "target": "2", "messages": messages, "output": output}
    scores = {"graded": {"value": {"x": 1, "y": "no"}}, "match": {"value": "C"}}
    return told | {"scores": scores, "model_usage": USED} | more


def read(
    folder: Path, *samples: dict[str, Any], scorer: str | None = None, **log: Any
) -> tuple[list[Row], str]:
    file = folder / "samples.jsonl"
    values = [{"reader": "0.3.1", "log": LOG | log}, *samples]
    text = "".join(f"{json.dumps(each)}\n" for each in values)
    file.write_text(text, encoding="utf-8", newline="\n")
    found = read_samples(file, scorer)
    return list(found.rows), "; ".join(found.notes)


def test_the_first_scorer_gives_the_reward_and_the_others_are_told(tmp_path: Path) -> None:
    (row, _), notes = read(tmp_path, sample(), sample("b"))
    assert (row.example_id, row.rollout, row.reward) == (1, 0, 1.0)
    assert row.metrics == {"graded.x": 1.0, "graded.y": 0.0}
    assert (row.answer, row.usage, row.stop_condition) == ("2", {"input": 5, "output": 3}, "stop")
    assert "the reward is `match`, the first score" in notes
    (row, _), notes = read(tmp_path, sample(), sample("b"), scorer="graded.y")
    assert (row.reward, row.metrics) == (0.0, {"match": 1.0, "graded.x": 1.0})
    assert "`graded.y`, as chosen" in notes
    with pytest.raises(UsageError) as refused:
        read(tmp_path, sample(), scorer="other")
    assert "match, graded.x, graded.y" in str(refused.value.hint)


def test_what_has_no_number_or_is_missing_is_told(tmp_path: Path) -> None:
    failed = {"message": "ValueError('boom')", "traceback": "here"}
    bad = sample("b", epoch=2, error=failed, error_retries=[failed])
    odd = sample("b", scores={"match": {"value": "maybe"}})
    config = LOG["eval"] | {"config": {"epochs": 3, "epochs_reducer": ["max"]}}
    rows, notes = read(tmp_path, odd, bad, status="cancelled", eval=config)
    assert [row.error and row.error.type for row in rows] == ["NoReward", "ValueError"]
    assert (rows[1].rollout, rows[1].attempt, rows[1].reward) == (1, 2, None)
    assert "1 sample ended in an error" in notes
    assert "1 sample without a number as score" in notes
    assert "ended as `cancelled`; 4 samples are not there" in notes
    assert "reduced by max" in notes


def test_images_calls_and_thoughts_are_kept(tmp_path: Path) -> None:
    picture = {"type": "image", "image": "data:image/png;base64,AA=="}
    asked = [{"role": "user", "content": [{"type": "text", "text": "see"}, picture]}]
    thought = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ok"}]
    call = {"id": "1", "function": "add", "arguments": {"a": 1}, "type": "function"}
    said = [
        {"role": "assistant", "content": thought, "tool_calls": [call]},
        {"role": "tool", "content": "2", "tool_call_id": "1", "function": "add"},
    ]
    rows, notes = read(tmp_path, sample(messages=asked + said))
    assert rows[0].prompt[0]["content"][1]["image_url"]["url"] == picture["image"]
    answer, result = rows[0].completion
    assert (answer["reasoning_content"], answer["content"][0]["text"]) == ("hm", "ok")
    assert answer["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert result["tool_call_id"] == "1"
    assert "1 sample with images or other media" in notes


TASK = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

def answer(messages, tools, choice, config):
    said = ModelOutput.from_content("mockllm/model", messages[0].text)
    said.usage = ModelUsage(input_tokens=5, output_tokens=3, total_tokens=8)
    if messages[0].text == "bad":
        raise ValueError("boom")
    return said

samples = [Sample(input=text, target="two") for text in ("one two", "two", "bad")]
model = get_model("mockllm/model", custom_outputs=answer)
task = Task(name="sums", dataset=samples, solver=generate(), scorer=[match(), includes()], epochs=2)
eval(task, model=model, log_dir="logs", display="none", fail_on_error=False)
"""


@pytest.mark.slow
def test_a_real_log_is_imported_once_and_used_as_any_run(prime: Prime, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK, encoding="utf-8", newline="\n")
    words = ("run", "--no-project", "--isolated", "--with", "inspect-ai>=0.3")
    made = run([find_uv(), *words, "python", "task.py"], cwd=tmp_path, timeout=300)
    (log,) = (tmp_path / "logs").glob("*.eval")
    assert made.ok, made.err
    done = prime("eval", "import", str(log), "-o", "json", cwd=tmp_path).ok().json
    assert done["counts"] == {"planned": 6, "scored": 4, "errored": 2, "truncated": 0}
    assert (done["reward"]["mean"], done["metrics"]["includes"]["mean"]) == (1.0, 1.0)
    assert "2 samples ended in an error" in done["imported"]
    again = prime("eval", "import", str(log), cwd=tmp_path).ok()
    assert f"imported before, as run {done['run_id']}" in again.err
    shown = prime("eval", "show", done["run_id"], "--errors", cwd=tmp_path).ok().out
    assert "boom" in shown
    gate = prime("eval", "gate", done["run_id"], "--fail-under", "0.9", cwd=tmp_path)
    assert gate.code in (0, 1, 3)
    other = prime("eval", "import", str(log), "--scorer", "includes", cwd=tmp_path).ok()
    assert "as chosen" in other.out
    log.write_bytes(b"no log")
    refused = prime("eval", "import", str(log), cwd=tmp_path)
    assert (refused.code, "inspect_ai cannot read" in refused.err) == (2, True)
    newer = tmp_path / "newer.json"
    newer.write_text('{"version": 3}', encoding="utf-8", newline="\n")
    refused = prime("eval", "import", str(newer), cwd=tmp_path)
    assert refused.code == 2
    assert "version 3 of log format" in refused.err
    assert "of the release that wrote it" in refused.err
