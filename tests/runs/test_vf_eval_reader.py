import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import open_run
from tests.runs.official_rows import read_official_rows


def saved(folder: Path, metadata: dict[str, Any], *rows: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "results.jsonl").write_text(text, encoding="utf-8")
    return folder


OLD = {"env": "h2", "model": "m", "num_examples": 2, "rollouts_per_example": 2}


def test_files_of_0_1_5_are_grouped_by_position_and_not_by_their_wrong_id(tmp_path: Path) -> None:
    rows = [{"id": n // 2, "prompt": f"p{n % 2}", "reward": n / 4} for n in range(4)]
    folder = saved(tmp_path / "run", OLD, *rows)
    found = list(read_official_rows(folder / "results.jsonl", OLD))
    assert [(r.example_id, r.rollout, r.prompt) for r in found] == [
        (0, 0, "p0"),
        (1, 0, "p1"),
        (0, 1, "p0"),
        (1, 1, "p1"),
    ]


def test_all_examples_written_as_minus_one_are_counted(tmp_path: Path) -> None:
    metadata = OLD | {"num_examples": -1}
    folder = saved(tmp_path / "run", metadata, *({"reward": 1.0} for _ in range(6)))
    found = list(read_official_rows(folder / "results.jsonl", metadata))
    assert {row.example_id for row in found} == {0, 1, 2}


def test_rollouts_of_0_1_14_are_numbered_within_their_example(tmp_path: Path) -> None:
    rows = [{"example_id": n // 2, "reward": 1.0, "metrics": {"f": 0.5}} for n in range(4)]
    folder = saved(tmp_path / "run", {"env_id": "e", "model": "m"}, *rows)
    found = list(read_official_rows(folder / "results.jsonl", {}))
    assert [(r.example_id, r.rollout) for r in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found[0].metrics == {"f": 0.5}


HASHES = [2**62 - 1, 2**62, 2**63 + 5, -(2**62), 2**64 - 1, 10**30]


def test_examples_that_are_numbered_by_hashes_can_be_read(tmp_path: Path) -> None:
    rows = [{"example_id": n, "prompt": "x", "reward": 1.0} for n in HASHES for _ in range(2)]
    run = open_run(saved(tmp_path / "run", {"env_id": "e", "model": "m"}, *rows))
    assert run.summary().reward.mean == 1.0
    found = list(run.index.rows())
    assert len({row.example_id for row in found}) == len(HASHES)
    assert sorted({row.rollout for row in found}) == [0, 1]
    for row in found:
        assert msgspec.convert(msgspec.to_builtins(row), Row).example_id == row.example_id


@pytest.mark.parametrize("rollout", [-1, 2**31, 2**63])
def test_a_rollout_with_an_impossible_number_gets_the_next(tmp_path: Path, rollout: int) -> None:
    rows = [{"example_id": 0, "reward": 1.0, "rollout_number": rollout} for _ in range(2)]
    run = open_run(saved(tmp_path / "run", {"env_id": "e", "model": "m"}, *rows))
    assert [row.rollout for row in run.index.rows()] == [0, 1]


def test_the_zero_of_an_error_is_not_a_score(tmp_path: Path) -> None:
    error = {"error": "VfError", "error_chain_repr": "", "error_chain_str": "VfError: no"}
    folder = saved(
        tmp_path / "run",
        {"env_id": "e", "model": "m", "date": "2026-01-01T00:00:00"},
        {"example_id": 0, "reward": 1.0, "error": None},
        {"example_id": 1, "reward": 0.0, "error": error},
    )
    summary = open_run(folder).summary()
    assert summary.reward.mean == 1.0
    assert (summary.reward.low, summary.reward.high) == (0.5, 1.0)
    assert summary.errors[0].message == "no"


def test_flat_numbers_of_old_rows_are_metrics(tmp_path: Path) -> None:
    folder = saved(tmp_path / "run", OLD, {"id": 0, "reward": 1.0, "format": 0.5, "total_ms": 9})
    assert set(open_run(folder).summary().metrics) == {"format"}


@pytest.mark.parametrize(
    "told",
    [
        '"avg_reward": NaN, "time": Infinity, "usage": {"input_tokens": 1e999}',
        '"note": "half \\ud83d", "time": 1e999',
        f'"seed": 1{"0" * 5000}',
    ],
)
def test_metadata_is_read_as_rows_are(tmp_path: Path, told: str) -> None:
    folder = saved(tmp_path / "run", OLD, {"reward": 1.0})
    text = f'{{"env": "wordle", "model": "m", "num_examples": 1, {told}}}'
    (folder / "metadata.json").write_text(text, encoding="utf-8")
    summary = open_run(folder).summary()
    assert (summary.model, summary.seconds, summary.reward.mean) == ("m", None, 1.0)
    msgspec.json.encode(summary)


def test_torn_lines_and_nan_are_survived(tmp_path: Path) -> None:
    folder = saved(tmp_path / "run", OLD | {"date": "2026-01-01"}, {"reward": 1.0})
    with (folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"reward": NaN}\n{"rew')
    assert open_run(folder).summary().counts.scored >= 1
