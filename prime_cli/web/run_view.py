"""A local run as the record of its page."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import format_duration, format_number, format_share, pluralize
from prime_cli.evals.gate.calibration import judge_trust
from prime_cli.evals.viewer.filters import Filter
from prime_cli.pages.evaluation import interval_facts
from prime_cli.pages.paging import parse_cursor
from prime_cli.pages.run_page import RunView, Wanted, list_examples, render_run
from prime_cli.pages.runs import (
    CHARTS,
    ERRORS,
    EVERYTHING,
    LONGEST_NOTE,
    METRICS,
    ErrorLine,
    Fact,
    RunFilter,
    download_links,
    reward_chart,
    some_facts,
)
from prime_cli.pages.templates import format_moment, render
from prime_cli.pages.texts import shorten
from prime_cli.runs.export.text import facts_of, parts_of, spent_of
from prime_cli.runs.manifest import FINISHED, RUNNING
from prime_cli.runs.plan import resume_command
from prime_cli.runs.summary import Summary
from prime_cli.training.record import facts_in
from prime_cli.web.library import Library, problem_of, run_path
from prime_cli.web.opened import LocalRun, Matches, Statistics
from prime_cli.web.rollout_view import LocalExamples


def view_run(
    run: LocalRun,
    name: str,
    wanted: RunFilter,
    query: Mapping[str, str] = MappingProxyType({}),
) -> RunView:
    """The page of a run: what its index knows, and its statistics if they are there.

    `query` has the cursors of its lists. Raises what reading the run raises; a wrong
    filter is a sentence on the page.
    """
    path = run_path(name)
    statistics = run.statistics
    found, problem = _find(run, wanted)
    rollouts = LocalExamples(run, found.layout, name)
    table = list_examples(rollouts, found.places, Wanted.read(wanted, query), path)
    facts = run.once("facts", lambda: list(_facts(run)))
    drawn = run.once("chart", lambda: reward_chart(run.rewards()))
    return RunView(
        path=path,
        title=run.title,
        status=run.status,
        command=f"prime eval show {run.run_id}",
        facts=[*facts, *(_spent(statistics.summary) if statistics else ())],
        parameters=list(some_facts(iter(_parameters(run, statistics)))),
        notes=[shorten(note, LONGEST_NOTE) for note in _notes(run, statistics)],
        charts=CHARTS.window([drawn, *(statistics.charts if statistics else ())]),
        metrics=METRICS.window(
            statistics.metrics if statistics else (),
            parse_cursor(query, "metrics"),
            table.here,
            "metrics",
        ),
        errors=ERRORS.window(
            _errors(statistics), parse_cursor(query, "errors"), table.here, "errors"
        ),
        filter=wanted,
        has_steps=run.has_steps,
        problem=problem,
        found=_found(found.count, found.searched, found.total) if wanted.is_set else "",
        table=table,
        downloads=download_links(path),
        stream=f"{path}/events?known={len(run.index)}" if run.is_live else None,
        done=len(run.layout.latest),
        planned=run.saved.manifest.planned if run.saved.manifest is not None else None,
    )


def _find(run: LocalRun, wanted: RunFilter) -> tuple[Matches, str]:
    """The rollouts that are wanted; all of them, and a sentence, where the filter is wrong."""
    try:
        return run.find(Filter(wanted.reward, wanted.only, wanted.text, wanted.step)), ""
    except PrimeError as error:
        return run.find(Filter()), problem_of(error)


def prepare_pages(library: Library) -> None:
    """Make the pages of the runs that were named, while a browser starts: the next are quick."""
    for path, name in zip(library.also, library.names_of(library.also), strict=True):
        with suppress(PrimeError):  # the page says it
            render(render_run(view_run(library.open(path).measured(), name, EVERYTHING)))


def _found(matches: int, searched: int, total: int) -> str:
    sentence = f"{pluralize(matches, 'rollout')} found"
    if searched < total:
        sentence += f" in the first {searched:,} of {total:,}; reload to search on"
    return sentence


def _facts(run: LocalRun) -> Iterator[Fact]:
    """Counts and reward, from the index alone."""
    layout = run.layout
    endings = layout.entries.endings(layout.latest)
    errored = sum(count for (kind, _), count in endings.items() if kind is not None)
    truncated = sum(count for (_, cut), count in endings.items() if cut)
    rewards = run.rewards()
    planned = run.saved.manifest.planned if run.saved.manifest is not None else None
    finished = len(layout.latest)
    if rewards:
        yield Fact("Mean reward", format_number(math.fsum(rewards) / len(rewards)))
    yield from interval_facts(run.by_example(), errored)
    of = f" of {planned:,}" if planned and planned != finished else ""
    yield Fact("Rollouts", f"{finished:,}{of}, {pluralize(layout.examples, 'example')}")
    if errored:
        yield Fact("Errors", f"{errored:,} ({format_share(errored / finished)})")
    if truncated:
        yield Fact("Cut short", f"{truncated:,} by a token limit")


def _spent(summary: Summary) -> Iterator[Fact]:
    for reduced in summary.reduced:
        if reduced.value is not None:
            yield Fact(reduced.name, format_number(reduced.value))
    if (cost := spent_of(summary.usage).get("Cost")) is not None:
        yield Fact("Cost", cost)
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
        facts += [Fact(*each) for each in spent_of(statistics.summary.usage).items()]
        for name, spent in parts_of(statistics.summary.usage):
            costs = ", ".join(f"{label.lower()} {text}" for label, text in spent.items())
            facts.append(Fact(f"Spent by {name}", costs))
    return facts


def _notes(run: LocalRun, statistics: Statistics | None) -> list[str]:
    notes = [end] if (end := end_of(run)) else []
    if statistics is None:
        notes.append("Metrics, tokens and cost are still being computed; reload to see them")
        return notes
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
    return f"This run is {run.status}{failure}; continue with `{resume}`"


def trust_in(run: LocalRun, cwd: Path) -> list[str]:
    """How far the judges of a run can be trusted, by the records in the project `cwd`."""
    manifest, statistics = run.saved.manifest, run.statistics
    if manifest is None or statistics is None:
        return []
    return judge_trust(manifest, statistics.charges, run.rewards(), cwd)


def _errors(statistics: Statistics | None) -> list[ErrorLine]:
    found = statistics.summary.errors if statistics else []
    return [ErrorLine.of(each.kind, each.type, each.count, each.message) for each in found]
