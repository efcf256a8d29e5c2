"""Local runs as the records of pages."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.formatting import format_duration, pluralize
from prime_cli.evals.viewer.filters import Filter
from prime_cli.evals.viewer.grid import Grid, GridRow
from prime_cli.pages.paging import FIRST, Cursor, Window, parse_cursor
from prime_cli.pages.rollout import RolloutView, Sample, view_rollout
from prime_cli.pages.runs import (
    CHARTS,
    COLUMNS,
    ERRORS,
    EVERYTHING,
    LONGEST_NOTE,
    METRICS,
    Cell,
    ErrorLine,
    Fact,
    GridLine,
    Link,
    RunFilter,
    RunView,
    Scale,
    download_links,
    render_run,
    reward_chart,
    some_facts,
)
from prime_cli.pages.samples import sample_of, time_facts, usage_facts
from prime_cli.pages.templates import format_moment, render
from prime_cli.pages.texts import shorten
from prime_cli.runs.export.text import facts_of, parts_of, spent_of
from prime_cli.runs.manifest import FINISHED, RUNNING
from prime_cli.runs.plan import resume_command
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Summary
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.statistics.intervals import bounds, precision
from prime_cli.training.record import facts_in
from prime_cli.web.library import Library, problem_of
from prime_cli.web.opened import LocalRun, Statistics

_GRID_BYTES = 48_000
_CELL_BYTES = 110
"""Of a cell besides the name of its run."""
_MOST_LINES = 50
_MOST_SIBLINGS = 60


def run_path(name: str) -> str:
    """The address of a run's page."""
    return f"/runs/{quote(name, safe='~')}"


def view_run(
    run: LocalRun,
    name: str,
    wanted: RunFilter,
    page: int,
    query: Mapping[str, str] = MappingProxyType({}),
) -> RunView:
    """The page of a run: what its index knows, and its statistics once they are there.

    `query` has the cursors of its lists. Raises what reading the run raises; a wrong
    filter is a sentence on the page.
    """
    path = run_path(name)
    # Before they are read: what comes meanwhile, the stream tells of.
    known = len(run.index)
    problem, found = "", None
    try:
        found = run.find(Filter(wanted.reward, wanted.errors, wanted.text, wanted.step))
    except PrimeError as error:
        problem = problem_of(error)
        found = run.find(Filter())
    grid = found.grid
    columns = COLUMNS.window(
        range(grid.columns), parse_cursor(query, "columns"), path + wanted.query(), "columns"
    )
    cells = _GRID_BYTES // (_CELL_BYTES + len(path))
    lines = max(1, min(_MOST_LINES, cells // max(min(grid.columns, COLUMNS.rows), 1)))
    pages = max(1, -(-len(grid) // lines))
    page = min(max(page, 1), pages)
    given: dict[str, Any] = {"columns_from": columns.start + 1} if columns.start else {}
    here = path + wanted.query(page=page, **given)
    columns = replace(columns, path=path + wanted.query(page=page))
    facts = run.once("facts", lambda: list(_facts(run)))
    scale = run.once("scale", lambda: Scale.of(run.rewards()))
    drawn = run.once("chart", lambda: reward_chart(run.rewards()))
    part = range((page - 1) * lines, min(page * lines, len(grid)))
    shown = [_grid_line(grid.row(index), scale, path, columns) for index in part]
    # Last: it computes beside us.
    statistics = run.statistics()
    return RunView(
        path=path,
        title=_title(run),
        status=run.status,
        command=f"prime eval show {run.run_id}",
        facts=[*facts, *(_spent(statistics.summary) if statistics else ())],
        parameters=list(some_facts(iter(_parameters(run, statistics)))),
        notes=[shorten(note, LONGEST_NOTE) for note in _notes(run, statistics)],
        charts=CHARTS.window([drawn, *(statistics.charts if statistics else ())]),
        metrics=METRICS.window(
            statistics.metrics if statistics else (),
            parse_cursor(query, "metrics"),
            here,
            "metrics",
        ),
        errors=ERRORS.window(_errors(statistics), parse_cursor(query, "errors"), here, "errors"),
        filter=wanted,
        has_steps=run.has_steps,
        problem=problem,
        found=_found(found.grid.matches, found.searched, found.total) if wanted.is_set else "",
        grid=shown,
        columns=columns,
        previous=path + wanted.query(page=page - 1, **given) if page > 1 else None,
        next=path + wanted.query(page=page + 1, **given) if page < pages else None,
        downloads=download_links(path),
        stream=f"{path}/events?known={known}" if run.is_live else None,
    )


def prepare_pages(library: Library) -> None:
    """Make the pages of the runs that were named, while a browser starts: the next are quick."""
    for path in library.also:
        with suppress(PrimeError):  # the page says it
            render(render_run(view_run(library.open(path), path.name, EVERYTHING, 1)))


def _found(matches: int, searched: int, total: int) -> str:
    sentence = f"{pluralize(matches, 'rollout')} found"
    if searched < total:
        sentence += f" in the first {searched:,} of {total:,}; reload to search on"
    return sentence


def _title(run: LocalRun) -> str:
    manifest = run.saved.manifest
    official = run.saved.official or {}
    environment = official.get("env_id") or official.get("env") or "?"
    title = environment if manifest is None else manifest.plan.environment.title
    return f"{title} with {model_of(run)}"


def model_of(run: LocalRun) -> str:
    """The model of a run; a question mark where nothing says which."""
    manifest = run.saved.manifest
    if manifest is not None:
        return manifest.plan.model
    return str((run.saved.official or {}).get("model", "?"))


def _facts(run: LocalRun) -> Iterator[Fact]:
    """Counts and reward, from the index alone."""
    layout = run.layout
    endings = layout.entries.endings(layout.latest)
    errored = sum(count for (kind, _), count in endings.items() if kind is not None)
    truncated = sum(count for (_, cut), count in endings.items() if cut)
    rewards = run.rewards()
    limits = bounds(rewards, errored)
    known = precision(run.by_example())
    planned = run.saved.manifest.planned if run.saved.manifest is not None else None
    finished = len(layout.latest)
    if rewards:
        yield Fact("Mean reward", f"{sum(rewards) / len(rewards):.4g}")
    if known.interval is not None:
        low, high = known.interval.low, known.interval.high
        yield Fact("95 % interval", f"{low:.4g} to {high:.4g} ({known.interval.method})")
    if errored and limits.low is not None and limits.high is not None:
        yield Fact("Errors as 0, or left out", f"{limits.low:.4g} to {limits.high:.4g}")
    of = f" of {planned:,}" if planned and planned != finished else ""
    yield Fact("Rollouts", f"{finished:,}{of}, {pluralize(layout.examples, 'example')}")
    if errored:
        yield Fact("Errors", f"{errored:,} ({errored / finished:.1%})")
    if truncated:
        yield Fact("Cut short", f"{truncated:,} by a token limit")


def _spent(summary: Summary) -> Iterator[Fact]:
    for reduced in summary.reduced:
        if reduced.value is not None:
            yield Fact(reduced.name, f"{reduced.value:.4g}")
    yield from (Fact(*each) for each in spent_of(summary.usage).items())
    if summary.seconds is not None:
        yield Fact("Time", format_duration(summary.seconds))


def _parameters(run: LocalRun, statistics: Statistics | None) -> list[Fact]:
    """What was run, and with what."""
    facts = [Fact("Run", run.run_id), Fact("Folder", str(run.path))]
    manifest = run.saved.manifest
    if manifest is not None:
        facts += [
            Fact("Environment", manifest.plan.environment.title),
            Fact("Model", manifest.plan.model),
            Fact("Started", format_moment(manifest.started)),
        ]
        labels = manifest.labels
        facts += [Fact("Tags", ", ".join(labels.tags))] if labels.tags else []
        facts += [Fact("Note", labels.note)] if labels.note else []
    if statistics is not None:
        facts += [Fact(*each) for each in facts_of(run.saved, statistics.summary).items()]
        for name, spent in parts_of(statistics.summary.usage):
            costs = ", ".join(f"{label.lower()} {text}" for label, text in spent.items())
            facts.append(Fact(f"Spent by {name}", costs))
    return facts


def _notes(run: LocalRun, statistics: Statistics | None) -> list[str]:
    notes = [end] if (end := end_of(run)) else []
    if statistics is None:
        notes.append("Metrics, tokens and cost are still being computed; reload to see them")
        return notes
    if statistics.rollouts < len(run.index) and not run.is_live:
        notes.append(
            f"Metrics, tokens and cost are of the first {statistics.rollouts:,} rollouts; "
            "reload to see all"
        )
    words = statistics.summary.asked_again_words
    return notes + ([f"The model was asked again for {words}"] if words else [])


def end_of(run: LocalRun) -> str:
    """Why a run ended early, and what goes on with it; empty for others."""
    manifest = run.saved.manifest
    if manifest is None or run.status in (FINISHED, RUNNING):
        return ""
    failure = f": {manifest.failure}" if manifest.failure else ""
    resume = resume_command(run.run_id, manifest.plan)
    if facts_in(manifest) is not None:
        resume = f"prime train --resume {run.run_id}"
    return f"This run is {run.status}{failure}; go on with `{resume}`"


def _errors(statistics: Statistics | None) -> list[ErrorLine]:
    found = statistics.summary.errors if statistics else []
    return [ErrorLine.of(each.kind, each.type, each.count, each.message) for each in found]


def _grid_line(row: GridRow, scale: Scale, path: str, columns: Window[int]) -> GridLine:
    # Relative to the page's address: hundreds of them are most of its bytes.
    base = path.rpartition("/")[2]
    mean = "" if row.mean is None else f"{row.mean:.3g}"
    cells = [
        scale.cell(
            cell.reward,
            cell.error,
            f"{base}/rollouts/{row.example_id}.{cell.rollout}" if cell.is_match else "",
            is_truncated=cell.is_truncated,
        )
        for cell in row.cells[columns.start : columns.end]
    ]
    return GridLine(str(row.example_id), mean, cells)


# --- One rollout ---


def rollout_sample(row: Row) -> Sample:
    """A row as its page needs it."""
    sample = sample_of(official_row(row))
    traceback = row.error.traceback or "" if row.error is not None else ""
    return Sample(
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
        facts=list(_rollout_facts(row)),
    )


def _rollout_facts(row: Row) -> Iterator[Fact]:
    if row.attempt > 1:
        yield Fact("Attempt", str(row.attempt))
    if row.stop_condition:
        yield Fact("Ended by", row.stop_condition)
    if row.is_truncated:
        yield Fact("Cut short", "by a token limit")
    yield from time_facts(row.timing)
    yield from usage_facts(row.usage or {})
    if row.cost is not None:
        yield Fact("Cost", f"${row.cost:.4g}")


def local_sample(run: LocalRun, example: int, rollout: int) -> Sample:
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
) -> RolloutView:
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
        run=Link(_title(run), path),
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
    scale = run.once("scale", lambda: Scale.of(run.rewards()))
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
