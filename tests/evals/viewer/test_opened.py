from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.evals.viewer.grid import Grid
from prime_cli.evals.viewer.opened import OpenedRun, SearchResult, page_of
from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.scrubber import Scrubber
from tests.runs.rows import row
from tests.runs.saving import save_run


def opened(folder: RunFolder) -> OpenedRun:
    return OpenedRun(open_run(folder.path))


def found(run: OpenedRun, **wanted: Any) -> SearchResult:
    run.filter(**wanted)
    result = run.advance()
    while not result.is_done:
        result = run.advance()
    return result


def cells(grid: Grid) -> dict[int, list[tuple[int, float | None, bool]]]:
    rows = [grid.row(index) for index in range(len(grid))]
    return {
        each.example_id: [(cell.rollout, cell.reward, cell.is_match) for cell in each.cells]
        for each in rows
    }


def test_a_run_is_a_grid_of_examples_by_rollouts(tmp_path: Path) -> None:
    rows = [row(1, 1, 0.5), row(0, 0, None), row(1, 0, 1.0), row(0, 0, 0.25, attempt=2)]
    grid = opened(save_run(tmp_path, *rows)).grid()
    assert cells(grid) == {0: [(0, 0.25, True)], 1: [(0, 1.0, True), (1, 0.5, True)]}
    assert (grid.columns, grid.matches, grid.row(1).mean) == (2, 3, 0.75)


def test_the_head_shows_the_results_of_the_run(tmp_path: Path) -> None:
    rows = [row(0, 0, 1.0), row(0, 1, None), row(1, 0, 0.0, is_truncated=True)]
    run = opened(save_run(tmp_path, *rows))
    assert run.title == "ada/wordle@1.2 with org/model"
    assert run.lines == (
        "reward 0.5 (0.333 with errors as 0) · finished · 2026-01-02 03:04",
        "3 of 4 rollouts · 2 examples · 1 error (infra 1) · 1 truncated",
    )


ROWS = [
    row(0, 0, 0.2, completion="a cat"),
    row(0, 1, 0.8, completion="a dog"),
    row(1, 0, None, completion="a Cat"),
    row(2, 0, 0.9),
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [(0, 0), (0, 1), (1, 0), (2, 0)]),
        ({"reward": ">0.5"}, [(0, 1), (2, 0)]),
        ({"only": "errored"}, [(1, 0)]),
        ({"text": "cat"}, [(0, 0), (1, 0)]),
        ({"text": "CAT", "reward": "0..1"}, [(0, 0)]),
        ({"text": "timed out", "only": "errored"}, [(1, 0)]),
        ({"text": "nobody said this"}, []),
        ({"only": "flipped"}, [(0, 0), (0, 1)]),
        ({"only": "Wrong ", "text": "a cat"}, [(0, 0)]),
        ({"only": "truncated"}, []),
    ],
)
def test_filters_hold_together(
    tmp_path: Path, wanted: dict[str, Any], expected: list[tuple[int, int]]
) -> None:
    result = found(opened(save_run(tmp_path, *ROWS)), **wanted)
    matches = [
        (example, rollout)
        for example, row_cells in cells(result.grid).items()
        for rollout, _, is_match in row_cells
        if is_match
    ]
    assert matches == expected
    assert result.grid.matches == len(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"step": "2"}, [1, 2]),
        ({"step": "2..3", "text": "cat"}, [2, 3]),
        ({"step": ">=2", "reward": "<0.5"}, [2]),
        ({"step": "30"}, []),
    ],
)
def test_rollouts_of_a_training_are_found_by_step(
    tmp_path: Path, wanted: dict[str, Any], expected: list[int]
) -> None:
    rows = [
        row(0, reward=0.1, state={"step": 1}, info={"step": 2}, completion='a cat {"step": 2}'),
        row(1, reward=0.5, state={"step": 2}),
        row(2, reward=0.2, state={"step": 2, "version": 3}, completion="a cat"),
        row(3, reward=0.9, state={"step": 3}, completion="a cat"),
    ]
    run = opened(save_run(tmp_path, *rows))
    assert run.has_steps
    result = found(run, **wanted)
    assert list(cells(result.grid)) == expected


def test_an_evaluation_has_no_steps_until_a_rollout_of_one_came(tmp_path: Path) -> None:
    folder = save_run(tmp_path, status="running")
    with writing(folder):
        run = opened(folder)
        known = [run.has_steps]
        with Journal(folder.journal, Scrubber({})) as journal:
            journal.append(row(0, state={"step": 1}))
            assert run.refresh()
        assert [*known, run.has_steps] == [False, True]
    assert not opened(save_run(tmp_path, *ROWS)).has_steps


def test_a_filter_that_cannot_be_read_leaves_the_one_there_was(tmp_path: Path) -> None:
    run = opened(save_run(tmp_path, *ROWS))
    found(run, only="errored")
    with pytest.raises(UsageError, match="not a range"):
        run.filter(reward="much")
    assert run.advance().grid.matches == 1


def test_only_the_last_attempt_is_found(tmp_path: Path) -> None:
    run = opened(save_run(tmp_path, row(0, reward=None), row(0, reward=1.0, attempt=2)))
    assert found(run, only="errored").grid.matches == 0


def test_neighbours_are_the_rollouts_that_pass_the_filter(tmp_path: Path) -> None:
    grid = found(opened(save_run(tmp_path, *ROWS)), text="cat").grid
    assert [grid.neighbour(0, 1), grid.neighbour(2, -1)] == [2, 0]
    assert [grid.neighbour(2, 1), grid.neighbour(0, -1)] == [None, None]


def test_a_run_that_is_going_shows_what_came_since(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, 0, 1.0), status="running")
    with writing(folder):
        run = opened(folder)
        assert "running" in run.lines[0]
        run.filter(text="cat")
        assert run.advance().grid.matches == 0
        assert not run.refresh()
        with Journal(folder.journal, Scrubber({})) as journal:
            journal.append(row(1, 0, 0.0, completion="cat"))
            assert run.refresh()
            assert found(run, text="cat").grid.matches == 1
    assert run.refresh()
    assert not run.is_live
    assert "stopped" in run.lines[0]


def test_a_grid_has_the_results_of_its_own_moment(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=1.0), status="running")
    with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
        run = opened(folder)
        before = run.advance()
        journal.append(row(1, reward=0.0))
        assert run.refresh()
        after = run.advance()
        for grid, lines, count, mean in (
            (before.grid, before.lines, 1, "1"),
            (after.grid, after.lines, 2, "0.5"),
        ):
            assert grid.matches == len(grid) == count
            assert lines[0].startswith(f"reward {mean} ")
            assert lines[1].startswith(f"{count} of 4 rollouts · {count} example")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from([None, 0.0, 0.5, 1.0])),
        max_size=12,
    )
)
def test_a_filtered_grid_is_the_whole_one_without_the_others(
    tmp_path: Path, told: list[tuple[int, int, float | None]]
) -> None:
    rows = [row(*each) for each in told]
    run = opened(save_run(tmp_path, *rows))
    last: dict[tuple[int, int], Row] = {(each.example_id, each.rollout): each for each in rows}
    grid = found(run, reward=">=0.5").grid
    for index in range(len(grid)):
        shown = grid.row(index)
        assert grid.index_of(shown.example_id) == index
        for cell in shown.cells:
            reward = last[shown.example_id, cell.rollout].reward
            assert cell.reward == reward
            assert cell.is_match == (reward is not None and reward >= 0.5)
    wanted = {key[0] for key, each in last.items() if each.reward in (0.5, 1.0)}
    assert [grid.example_at(index) for index in range(len(grid))] == sorted(wanted)


CALL = {"function": {"name": "guess", "arguments": '{"word": "crane"}'}}


def test_a_page_shows_parts_of_the_reward_timing_turns_and_calls() -> None:
    told = row(
        3,
        1,
        0.5,
        metrics={"format": 0.25},
        timing={"total": 1.5},
        usage={"input": 7},
        prompt=[{"role": "user", "content": "guess"}],
        completion=[{"role": "assistant", "content": "", "tool_calls": [CALL]}],
        answer="crane",
        stop_condition="max_turns",
        is_truncated=True,
    )
    page = page_of(told, 8)
    assert (page.title, page.number) == ("example 3, rollout 1", 8)
    assert [(block.kind, block.label, block.text) for block in page.blocks] == [
        ("fact", "reward", "0.5"),
        ("fact", "  format", "0.25"),
        ("fact", "ended by", "max_turns, cut short by a token limit"),
        ("fact", "seconds", "total 1.5"),
        ("fact", "tokens", "input 7"),
        ("turn", "user", "guess"),
        ("call", "assistant calls", 'guess({"word": "crane"})'),
        ("fact", "answer", "crane"),
    ]


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        ({"cost": 0.5}, "$0.50"),
        ({"cost": None, "known_cost": 0.25, "unpriced": 1}, "at least $0.25"),
        ({"cost": None, "known_cost": 0.0, "unpriced": 1}, "unknown"),
    ],
)
def test_an_unknown_cost_is_shown_in_words(counted: dict[str, Any], told: str) -> None:
    page = page_of(row(0, usage={"input": 7} | counted), 0)
    facts = {block.label: block.text for block in page.blocks}
    assert facts["tokens"] == "input 7"
    assert facts["cost"] == told


def test_an_error_comes_with_its_class_and_traceback() -> None:
    failure = Failure("infra", "APITimeoutError", "Request timed out", True, "Traceback …")
    page = page_of(row(0, reward=None, attempt=2, error=failure), 0)
    assert page.title == "example 0, rollout 0, attempt 2"
    assert [(block.label, block.text) for block in page.blocks if block.kind == "error"] == [
        ("infra error (may be tried again)", "APITimeoutError: Request timed out"),
        ("traceback", "Traceback …"),
    ]


def test_a_prompt_of_plain_text_is_named_as_such() -> None:
    page = page_of(row(0, prompt="Once upon", completion="a time"), 0)
    turns = [(block.label, block.text) for block in page.blocks if block.kind == "turn"]
    assert turns == [("prompt", "Once upon"), ("completion", "a time")]
