"""A rollout of a local run as the record of its page."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_usd
from prime_cli.evals.viewer.grid import Grid, Layout
from prime_cli.pages.paging import FIRST, Cursor
from prime_cli.pages.rollout import RolloutContent, RolloutSample, view_rollout
from prime_cli.pages.run_page import ExampleTexts, texts_of
from prime_cli.pages.runs import Cell, Fact, Link, RewardRange
from prime_cli.pages.samples import sample_of, time_facts, usage_facts
from prime_cli.runs.rows import Row
from prime_cli.runs.transcript import parse_position
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.web.library import run_path
from prime_cli.web.opened import LocalRun

_MOST_SIBLINGS = 60


def rollout_sample(row: Row) -> RolloutSample:
    """A row as its page needs it."""
    sample = sample_of(official_row(row))
    traceback = row.error.traceback or "" if row.error is not None else ""
    return RolloutSample(
        prompt=sample.prompt,
        completion=sample.completion,
        reward=sample.reward,
        metrics=row.metrics,
        answer=row.answer,
        info=row.info,
        task=row.task,
        state=row.state,
        error=sample.error,
        traceback=traceback,
        facts=list(_facts(row)),
    )


def _facts(row: Row) -> Iterator[Fact]:
    if row.attempt > 1:
        yield Fact("Attempt", str(row.attempt))
    if row.stop_condition:
        yield Fact("Ended by", row.stop_condition)
    if row.is_truncated:
        yield Fact("Cut short", "by a token limit")
    yield from time_facts(row.timing)
    yield from usage_facts(row.usage or {})
    if row.cost is not None:
        yield Fact("Cost", format_usd(row.cost))


def local_sample(run: LocalRun, example: int, rollout: int) -> RolloutSample:
    """A rollout as its page needs it; raises NotFound, and UsageError for one that is broken."""
    row = run.read(example, rollout)
    if row is None:
        raise NotFound(
            f"Run {run.run_id} has no rollout {example}.{rollout}",
            hint=f"list its rollouts with `prime eval show {run.run_id} --output jsonl`",
        )
    return rollout_sample(row)


def rollout_link(name: str, example: int, rollout: int) -> Link:
    """Where the page of a rollout is."""
    return Link(
        f"Example {example}, rollout {rollout}", f"{run_path(name)}/rollouts/{example}.{rollout}"
    )


def rollout_command(run: LocalRun, example: int, rollout: int) -> str:
    """What shows a rollout in a terminal."""
    return f"prime eval show {run.run_id} --rollout {example}.{rollout}"


def view_local_rollout(
    run: LocalRun,
    name: str,
    example: int,
    rollout: int,
    cursor: Cursor = FIRST,
    share: int = 1,
) -> RolloutContent:
    """The page of a rollout, with the turns at `cursor`; raises as `local_sample`.

    `share` is how many rollouts share the page.
    """
    sample = local_sample(run, example, rollout)
    path = run_path(name)
    grid = run.grid()
    place = run.index.find(example, rollout)
    assert place is not None  # noqa: S101 - the row was found
    siblings, count = _siblings(run, grid, name, example, rollout)
    here = rollout_link(name, example, rollout)
    return view_rollout(
        sample,
        path=here.path,
        run=Link(run.title, path),
        title=here.label,
        previous=_neighbour(run, grid, path, place, -1),
        next=_neighbour(run, grid, path, place, 1),
        siblings=siblings,
        sibling_count=count,
        command=rollout_command(run, example, rollout),
        cursor=cursor,
        share=share,
    )


def _siblings(
    run: LocalRun, grid: Grid, name: str, example: int, rollout: int
) -> tuple[list[Cell], int]:
    """The rollouts of an example around one of several, and how many it has."""
    cells = grid.row(grid.index_of(example)).cells
    if len(cells) == 1:
        return [], 1
    at = next((at for at, cell in enumerate(cells) if cell.rollout == rollout), 0)
    first = max(0, min(at - _MOST_SIBLINGS // 2, len(cells) - _MOST_SIBLINGS))
    scale = run.once("scale", lambda: RewardRange.of(run.rewards()))
    siblings = []
    for cell in cells[first : first + _MOST_SIBLINGS]:
        path = rollout_link(name, example, cell.rollout).path
        shown = scale.cell(cell.reward, cell.error, path)
        siblings.append(shown._replace(label=f"{example}.{cell.rollout}: {shown.label}"))
    return siblings, len(cells)


def _neighbour(run: LocalRun, grid: Grid, path: str, number: int, step: int) -> str | None:
    found = grid.neighbour(number, step)
    if found is None:
        return None
    example, rollout = run.index.entries.key(found)
    return f"{path}/rollouts/{example}.{rollout}"


# --- The examples of a run ---

_MOST_READ = 8 << 20
"""Bytes of the rollouts whose texts a page shows."""


class LocalExamples:
    """The rollouts of `layout`, as the page of a run called `name` lists them by example."""

    def __init__(self, run: LocalRun, layout: Layout, name: str) -> None:
        self._run, self._layout, self._name = run, layout, name
        self.columns = layout.columns
        # Relative to the page's address: hundreds of them are most of its bytes.
        self.folder = f"{run_path(name).rpartition('/')[2]}/rollouts/"

    def name(self, row: int) -> str:
        return str(self._layout.example_at(row))

    def key(self, place: int) -> str:
        example, rollout = self._layout.entries.key(self._layout.latest[place])
        return f"{example}.{rollout}"

    def label(self, place: int) -> str:
        return f"rollout {self._layout.entries.key(self._layout.latest[place])[1]}"

    def find(self, key: str) -> int | None:
        try:
            number = self._run.index.find(*parse_position(key))
        except UsageError:
            return None
        latest, order = self._layout.latest, self._layout.entries.key
        if number is None:
            return None
        place = bisect_left(latest, order(number), key=order)
        return place if place < len(latest) and latest[place] == number else None

    def read(self, places: Sequence[int]) -> Sequence[ExampleTexts]:
        numbers = [self._layout.latest[place] for place in places]
        lengths = accumulate(self.columns.lengths[place] for place in places)
        kept = sum(length <= _MOST_READ for length in lengths)
        texts = [texts_of(rollout_sample(row)) for row in self._run.index.read(numbers[:kept])]
        return texts + [ExampleTexts()] * (len(numbers) - kept)

    def view(self, place: int, share: int) -> RolloutContent:
        example, rollout = self._layout.entries.key(self._layout.latest[place])
        return view_local_rollout(self._run, self._name, example, rollout, share=share)
