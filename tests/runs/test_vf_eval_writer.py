import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.evals.sharing.samples import encode_sample, rows_of
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.vf_eval_reader import ROW_KEYS, number_rows
from prime_cli.runs.vf_eval_writer import official_metadata, official_row, write_results
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run


def test_one_line_per_rollout_in_order_with_metrics_also_flat(tmp_path: Path) -> None:
    folder = save_run(
        tmp_path, row(1, metrics={"format": 0.5}), row(0, reward=None), row(0, attempt=2)
    )
    write_results(folder.journal, folder.results)
    lines = [json.loads(line) for line in folder.results.read_text("utf-8").splitlines()]
    assert [(line["example_id"], line["reward"]) for line in lines] == [(0, 1.0), (1, 1.0)]
    assert lines[1]["format"] == lines[1]["metrics"]["format"] == 0.5


def test_an_errored_rollout_has_no_reward_and_vf_eval_s_error(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=None))
    write_results(folder.journal, folder.results)
    (line,) = map(json.loads, folder.results.read_text("utf-8").splitlines())
    assert line["reward"] is None
    assert line["error"]["error"] == "APITimeoutError"
    assert line["error"]["error_chain_str"] == "APITimeoutError: Request timed out"


def test_a_metric_named_like_a_key_does_not_replace_it(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, metrics={"reward": 99.0, "example_id": 7.0}))
    write_results(folder.journal, folder.results)
    line = json.loads(folder.results.read_text("utf-8"))
    assert (line["reward"], line["example_id"]) == (1.0, 0)
    assert line["metrics"] == {"reward": 99.0, "example_id": 7.0}


@pytest.mark.parametrize("name", sorted({*Row.__struct_fields__, *ROW_KEYS}))
def test_a_metric_may_have_any_name(tmp_path: Path, name: str) -> None:
    spoken: dict[str, Any] = {"answer": "a", "completion": "c", "prompt": "p", "task": "t"}
    metrics = {name: 99.0}
    for given in (
        row(0, metrics=metrics, **spoken),
        row(0, metrics={name: 0.0}),
        row(0, reward=None, metrics=metrics),
    ):
        plain = official_row(msgspec.structs.replace(given, metrics={}))
        flat = official_row(given)
        assert {key: flat[key] for key in plain} == plain | {"metrics": given.metrics}
        sample = msgspec.json.decode(encode_sample(given), type=dict)
        (back,) = rows_of([sample], 1)
        assert back == given
        (back,) = number_rows([official_row(given)], 1)
        assert (back.reward, back.metrics) == (given.reward, given.metrics)


def test_means_of_metrics_do_not_replace_those_of_the_run(tmp_path: Path) -> None:
    metrics = {"reward": 99.0, "error": 99.0, "metrics": 99.0}
    folder = save_run(tmp_path, row(0, metrics=metrics))
    metadata = official_metadata(PLAN, open_run(folder.path).summary())
    assert (metadata["avg_reward"], metadata["avg_error"]) == (1.0, 0.0)
    assert metadata["avg_metrics"] == metrics


def test_metadata_has_what_the_official_push_needs(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, metrics={"format": 0.5}), row(1, reward=None))
    metadata = official_metadata(PLAN, open_run(folder.path).summary())
    assert metadata["env_id"] == "ada/wordle"
    assert metadata["model"] == "org/model"
    assert (metadata["avg_reward"], metadata["avg_format"], metadata["avg_error"]) == (1, 0.5, 0.5)


def test_our_results_read_as_official_ones_say_the_same(tmp_path: Path) -> None:
    rows = (row(0, 0, 0.5), row(0, 1, None), row(1, 0, 0.25, metrics={"f": 1.0}))
    folder = save_run(tmp_path, *rows)
    ours = open_run(folder.path).summary()
    write_results(folder.journal, folder.results)
    metadata = official_metadata(PLAN, ours)
    folder.metadata.write_text(json.dumps(metadata), encoding="utf-8")
    folder.manifest.unlink()
    theirs = open_run(folder.path).summary()
    assert theirs.reward == ours.reward
    assert theirs.metrics == ours.metrics
    assert theirs.rollouts == ours.rollouts
    assert theirs.errors == ours.errors
