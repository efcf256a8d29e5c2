"""The parts of a run are exactly the examples of the whole, and each is a run of its own."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.execution.recorder import EventFilter
from prime_cli.evals.planning.cost import budget_of, shard_words
from prime_cli.evals.planning.parsers import parse_shard
from prime_cli.evals.shards.merge import merge_runs
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.plan import Shard
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.protocol import Rollout, Start
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel
from tests.runs.saving import PLAN


@pytest.mark.parametrize("text", ["0/4", "5/4", "x", "1/0", "-1/4", "1/4/2", "", "٢/8"])
def test_what_is_not_one_of_n_parts_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not one of N parts"):
        parse_shard(text)


def test_a_part_is_spelled_in_one_way() -> None:
    assert [parse_shard(text) for text in ("02/8", "8/8", "auto")] == ["2/8", "8/8", "auto"]


@given(st.integers(0, 50), st.integers(1, 12), st.integers(0, 10**6))
def test_every_example_is_in_one_part_and_the_shares_add_up(
    examples: int, count: int, tokens: int
) -> None:
    parts = [Shard(number, count) for number in range(1, count + 1)]
    numbers = list(range(examples))
    assert sorted(chain.from_iterable(part.of(numbers) for part in parts)) == numbers
    assert sum(part.share(tokens) for part in parts) == tokens


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 12))
def test_a_run_that_grows_keeps_its_parts(fewer: int, more: int, count: int) -> None:
    part = Shard(1, count)
    grown = part.of(range(fewer + more))
    assert list(part.of(range(fewer))) == [example for example in grown if example < fewer]


def test_a_part_has_its_share_of_each_cap_and_says_so() -> None:
    plan = msgspec.structs.replace(PLAN, max_cost=10.0, token_budget=1001, options={"shard": "2/4"})
    budget = budget_of(plan)
    assert budget is not None
    assert (budget.max_cost, budget.token_budget) == (2.5, 250)
    assert shard_words(plan, Shard(2, 4)) == (
        "Part 2 of 4, which may spend $2.50 of `--max-cost 10` and 250 of `--token-budget 1001`"
    )
    with pytest.raises(UsageError, match="leaves no token"):
        budget_of(msgspec.structs.replace(plan, token_budget=1))


def test_rollouts_of_other_parts_are_refused() -> None:
    plan = msgspec.structs.replace(PLAN, options={"shard": "2/2"}, num_examples=3)
    refusing = EventFilter(plan, WorkList(1))
    rollouts = plan.rollouts_per_example
    refusing.begin(Start(examples=3, planned=rollouts, owed=rollouts, unit="rollout"))
    refusing.check(Rollout(example_id=1, rollout=0))
    with pytest.raises(EnvironmentFailed, match="not requested"):
        refusing.check(Rollout(example_id=0, rollout=0))
    with pytest.raises(EnvironmentFailed, match="3 examples"):
        EventFilter(plan, WorkList(1)).begin(
            Start(examples=3, planned=3 * rollouts, owed=0, unit="rollout")
        )


def rows_of(folder: RunFolder) -> list[dict[str, Any]]:
    if not folder.results.is_file():
        return []
    lines = folder.results.read_text("utf-8").splitlines()
    return [json.loads(line) | {"timing": None} for line in lines]


@pytest.mark.network  # the shared venv may have to be made
def test_the_parts_have_the_rows_and_the_fingerprint_of_the_whole_run(tmp_path: Path) -> None:
    echo = small_interpreter(tmp_path / "echo", ECHO)
    sized: dict[str, Any] = {"num_examples": 3, "env_args": {"size": 5}}
    with ScriptedModel() as model:
        whole = run_live(tmp_path / "whole", echo, model.url, **sized)
        calls = len(model.calls)
        parts = [
            run_live(tmp_path / str(n), echo, model.url, options={"shard": f"{n}/4"}, **sized)
            for n in (1, 2, 3, 4)
        ]
        assert len(model.calls) == 2 * calls
    assert [part.summary.counts.planned for part in parts] == [2, 2, 2, 0]
    assert [part.summary.status for part in parts] == ["finished"] * 4
    found = sorted(chain.from_iterable(rows_of(part.folder) for part in parts), key=_place)
    assert found == rows_of(whole.folder)
    merged = merge_runs([str(part.folder.path) for part in parts], tmp_path, Silent())
    assert rows_of(merged.folder) == rows_of(whole.folder)
    every = [load_manifest(result.folder.manifest).fingerprint for result in (whole, *parts)]
    assert len(set(every)) == 1


def _place(row: dict[str, Any]) -> tuple[int, int]:
    return row["example_id"], row["prime"]["rollout"]
