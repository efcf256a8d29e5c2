"""Parts of a replay, merged, are the run that was recorded; as a user types it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Prime, prime_process
from tests.runs.saving import save_parts

STARTERS = ("alphabet-sort", "calculator", "reverse-text", "word-ladder")


def test_the_merged_run_is_shown_and_opens_like_any_other(prime: Prime, tmp_path: Path) -> None:
    save_parts(tmp_path / "parts", 3)
    done = prime("eval", "merge", "parts", "--output", "json", cwd=tmp_path).ok().json
    assert done["counts"] == {"planned": 3, "scored": 3, "errored": 0, "truncated": 0}
    shown = prime("eval", "show", done["run_id"], "-o", "json", cwd=tmp_path).ok().json
    assert shown["counts"] == done["counts"]


def test_a_part_is_told_from_a_whole_run(prime: Prime, tmp_path: Path) -> None:
    first, *_ = save_parts(tmp_path, 3)
    done = prime("eval", "merge", "outputs", "-o", "json", cwd=tmp_path).ok().json
    listed = prime("eval", "list", "-o", "json", cwd=tmp_path).ok().json["evaluations"]
    shards = {each["run_id"]: each["shard"] for each in listed}
    assert (shards[first.run_id], shards[done["run_id"]]) == ("1/3", None)
    assert "3 x 1, 1/3" in prime("eval", "list", cwd=tmp_path).ok().out
    assert "0 errored, part 1/3" in prime("eval", "show", first.run_id, cwd=tmp_path).ok().out
    assert "part" not in prime("eval", "show", done["run_id"], cwd=tmp_path).ok().out


def test_what_is_missing_ends_with_3_unless_it_is_not_wanted(prime: Prime, tmp_path: Path) -> None:
    first, *_ = save_parts(tmp_path / "parts", 3)
    missed = prime("eval", "merge", str(first.path), cwd=tmp_path)
    assert missed.code == 3
    assert "Parts 2 and 3 of 3 are missing" in missed.err
    prime("eval", "merge", str(first.path), "--partial", cwd=tmp_path).ok()


def run(folder: Path, starter: str, model: str, *flags: str) -> Path:
    done = prime_process(
        *("eval", "run", f"starter/{starter}", "-m", model, "-n", "5", "-r", "2", *flags),
        *("--output", "json"),
        cwd=folder,
        timeout=600,
    )
    return folder / str(done.ok().json["path"])


def rows_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "results.jsonl").read_text("utf-8").splitlines()
    return [{**json.loads(line), "timing": None} for line in lines]


@pytest.mark.slow
@pytest.mark.sample(1, "starter")
@pytest.mark.parametrize("starter", STARTERS)
def test_the_parts_of_a_replay_are_what_was_recorded(starter: str, tmp_path: Path) -> None:
    whole = run(tmp_path, starter, "builtin/oracle")
    parts = [
        run(tmp_path, starter, f"builtin/replay:{whole}", "--shard", f"{number}/2")
        for number in (1, 2)
    ]
    one, other = (merged(tmp_path, *order) for order in (parts, parts[::-1]))
    assert rows_of(one) == rows_of(whole)
    names = {path.name for path in one.iterdir()} - {"run.json", "receipt.json", ".lock"}
    assert names >= {"journal.jsonl", "results.jsonl", "metadata.json"}
    for name in names:  # run.json names the folder that it is in, and the receipt has its digest
        assert (one / name).read_bytes() == (other / name).read_bytes()


def merged(folder: Path, *parts: Path) -> Path:
    outputs = f"merged-{parts[0].name}"
    words = ("eval", "merge", *map(str, parts), "--output-dir", outputs, "--output", "json")
    return folder / str(prime_process(*words, cwd=folder).ok().json["path"])
