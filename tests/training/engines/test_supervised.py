"""Rows to fine-tune on, as TRL's SFTTrainer reads them and as prime does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.training.engines.programs import run

MASKED, LINE_BREAK = -100, 201
"""Of `builtin/tiny`, whose tokens are bytes."""
CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
TOOL = {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {}}}


def learned(row: dict[str, Any]) -> list[int]:
    return [each for each in row["labels"] if each not in (MASKED, LINE_BREAK)]


@pytest.mark.slow
@pytest.mark.network
def test_exported_rows_are_read_by_sft_trainer_as_prime_learns_them(
    trl: dict[str, Any], tmp_path: Path
) -> None:
    from prime_cli.core.progress import Silent
    from prime_cli.runs.export.exports import Format, export_run
    from prime_cli.runs.saved_run import open_run

    asked = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "one"}]
    turns = [
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
    ]
    called = [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "2"},
        {"role": "assistant", "content": "done"},
    ]
    rows = [
        row(0, 0, 1.0, prompt=asked, completion=turns),
        row(1, 0, 1.0, prompt=asked, completion=called, state={"tool_defs": [TOOL]}),
    ]
    folder = save_run(tmp_path, *rows)
    file = tmp_path / "rows.jsonl"
    export_run(open_run(folder.path), Format.SFT, file, Silent())
    for found in run(trl, "read_rows.py", tmp_path, file, "qwen3", "qwen2_5"):
        assert found["marked"] == found["theirs"]
        # Without marks the answers are found by the prompts before them: what is sampled, to the
        # end of the turn. TRL's marks also have a line break at either end.
        plain = [each for each in found["plain"] if each is not None]
        assert len(plain) == 2
        assert [each["input_ids"] for each in plain] == [e["input_ids"] for e in found["theirs"]]
        assert list(map(learned, plain)) == list(map(learned, found["theirs"]))
        told = json.dumps(found["theirs"])
        assert learned(found["theirs"][0]), told
