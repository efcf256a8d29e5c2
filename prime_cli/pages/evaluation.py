"""The page of an evaluation on a hub, as that of a local run."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from math import nan
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from prime_cli.core.formatting import format_interval, format_number, format_usd, pluralize
from prime_cli.pages.links import comparison_path, environment_path, evaluation_path
from prime_cli.pages.paging import parse_cursor
from prime_cli.pages.run_page import ExampleTable, RunView, render_run
from prime_cli.pages.runs import (
    CHARTS,
    ERRORS,
    EVERYTHING,
    LONGEST_NOTE,
    METRICS,
    NOTHING,
    ErrorLine,
    Fact,
    Link,
    MetricLine,
    RunFilter,
    download_links,
    metric_charts,
    reward_chart,
    some_facts,
)
from prime_cli.pages.samples import usage_facts
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import shorten, whole_text
from prime_cli.pages.tokens import finite
from prime_cli.runs.outcomes import RolloutColumns
from prime_cli.runs.pushed_manifest import JUDGES
from prime_cli.runs.rows import LARGEST
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.statistics.intervals import bounds, precision
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail

_MOST_JUDGES = 8


class SampleColumns(NamedTuple):
    """Samples by example, in the order of the first of each: those at each place in `columns`.

    `names` are those of examples, by row, and `rollouts` what each sample calls itself.
    """

    columns: RolloutColumns
    numbers: Sequence[int]
    names: Sequence[str]
    rollouts: Sequence[str]

    @classmethod
    def of(cls, lines: Sequence[SampleLine]) -> "SampleColumns":
        """Those of `lines`; which of them are truncated only their bodies can tell."""
        examples: dict[str, list[tuple[str, SampleLine]]] = {}
        for line in lines:
            name, rollout = line.place
            examples.setdefault(name, []).append((intern(rollout or f"{line.number}"), line))
        ordered = [each for found in examples.values() for each in found]
        rewards = [nan if line.reward is None else line.reward for _, line in ordered]
        columns = RolloutColumns(
            starts=array("q", accumulate(map(len, examples.values()), initial=0)),
            rewards=array("d", (nan if abs(each) > LARGEST else each for each in rewards)),
            failed=[line.failed for _, line in ordered],
            truncated=[False] * len(ordered),
            lengths=array("q", (line.size for _, line in ordered)),
        )
        numbers = array("q", (line.number for _, line in ordered))
        return cls(columns, numbers, list(examples), [rollout for rollout, _ in ordered])


class Overview(NamedTuple):
    """What the page shows of the first thousands of samples together."""

    samples: SampleColumns = SampleColumns.of(())
    intervals: Sequence[Fact] = ()
    charts: Sequence[Html] = ()
    errors: Sequence[ErrorLine] = ()

    @classmethod
    def of(
        cls,
        lines: Sequence[SampleLine],
        metrics: Mapping[str, Sequence[float]],
        *,
        total: int,
        errors: int,
        kinds: Sequence[ErrorLine] = (),
    ) -> "Overview":
        """Of these `lines`, with intervals if they are all `total`; `metrics` are values by name.

        `errors` is the number of samples with an error, and `kinds` what they were.
        """
        samples = SampleColumns.of(lines)
        columns = samples.columns
        examples = [columns.scored(row) for row in columns.rows]
        rewards = [reward for scored in examples for reward in scored]
        intervals = interval_facts(examples, errors) if len(lines) == total else ()
        charts = [reward_chart(rewards), *metric_charts(metrics)]
        return cls(samples, list(intervals), charts, kinds)


class EvaluationSamples(NamedTuple):
    """A page of the examples, how many samples its filter `found`, and the overview of all."""

    table: ExampleTable = ExampleTable()
    found: int = 0
    overview: Overview = Overview()


def evaluation_page(
    detail: EvaluationDetail,
    samples: EvaluationSamples,
    filters: RunFilter = EVERYTHING,
    problem: str = "",
    query: Mapping[str, str] = MappingProxyType({}),
) -> Page:
    """The page of an evaluation; `problem` says what is wrong with the filter.

    `query` has the cursors of its lists.
    """
    path = evaluation_path(detail.evaluation_id)
    table, overview = samples.table, samples.overview
    here = table.here or path
    metrics = list(_metrics(detail))
    view = RunView(
        path=path,
        title=detail.name,
        status=detail.status.lower(),
        command=f"prime eval get {detail.evaluation_id}",
        facts=list(_facts(detail, overview.intervals)),
        about=list(_about(detail)),
        parameters=list(_parameters(detail)),
        notes=[shorten(note, LONGEST_NOTE) for note in _notes(detail, overview)],
        charts=CHARTS.window(overview.charts),
        metrics=METRICS.window(metrics, parse_cursor(query, "metrics"), here, "metrics"),
        errors=ERRORS.window(overview.errors, parse_cursor(query, "errors"), here, "errors"),
        filter=filters,
        problem=problem,
        found=f"{pluralize(samples.found, 'sample')} found" if filters.is_set else "",
        table=table,
        downloads=download_links(path) if detail.total_samples else (),
        stream=_stream(detail, path),
        done=detail.total_samples,
        planned=detail.planned,
        others=list(_others(detail)),
        trust=list(_trust(detail)),
    )
    return render_run(view)


def _trust(detail: EvaluationDetail) -> Iterator[str]:
    """What its owner says of its judges."""
    told = detail.metadata.get(JUDGES)
    for each in told[:_MOST_JUDGES] if isinstance(told, list) else ():
        if isinstance(each, str):
            yield shorten(f"{detail.owner or 'Its owner'} says: {each}", LONGEST_NOTE)


def _others(detail: EvaluationDetail) -> Iterator[Link]:
    yield from (Link(name, environment_path(name)) for name in detail.environment_names)
    if detail.total_samples:
        yield Link("Compare with others", comparison_path(detail.evaluation_id))


def _stream(detail: EvaluationDetail, path: str) -> str | None:
    is_closed = detail.status in CLOSED
    return None if is_closed else f"{path}/events?known={detail.total_samples}"


def _facts(detail: EvaluationDetail, intervals: Sequence[Fact]) -> Iterator[Fact]:
    if detail.avg_score is not None:
        yield Fact("Mean reward", format_number(detail.avg_score))
    yield from intervals
    yield Fact("Samples", detail.progress or f"{detail.total_samples:,}")
    if errors := _errors_of(detail):
        yield Fact("Errors", f"{errors:,}")
    if (cost := finite(_own(detail).get("cost"))) is not None:
        yield Fact("Cost", format_usd(cost))


def _about(detail: EvaluationDetail) -> Iterator[Fact]:
    yield Fact("Model", detail.model_name or "unknown")
    if detail.owner:
        yield Fact("Pushed by", detail.owner)
    if detail.receipt is not None:
        yield Fact("Receipt", detail.receipt.words)
    yield Fact("Seen by", "everybody" if detail.is_public else "its owner")


def _own(detail: EvaluationDetail) -> Mapping[str, Any]:
    """What our client told beside what every client tells."""
    own = detail.metadata.get("prime")
    return own if isinstance(own, dict) else {}


def _errors_of(detail: EvaluationDetail) -> int:
    return detail.summary.errors if detail.summary is not None else 0


def _parameters(detail: EvaluationDetail) -> Iterator[Fact]:
    known = {
        "Evaluation": detail.evaluation_id,
        "Dataset": detail.dataset,
        "Framework": detail.framework,
        "Task": detail.task_type,
        "Description": detail.description,
        "Tags": ", ".join(detail.tags),
        "Created": detail.created_at,
        "Completed": detail.completed_at,
    }
    usage = _own(detail).get("usage")
    spent = usage_facts(usage) if isinstance(usage, dict) else ()
    stated = ((name, value) for name, value in detail.metadata.items() if value not in NOTHING)
    told = ((name, whole_text(value)) for name, value in stated)
    known_facts = ((label, text) for label, text in known.items() if text)
    yield from some_facts(chain(known_facts, spent, told))


def _notes(detail: EvaluationDetail, overview: Overview) -> Iterator[str]:
    if detail.error_message:
        yield f"It failed: {detail.error_message}"
    listed = len(overview.samples.numbers)
    if 0 < listed < detail.total_samples:
        yield f"The first {listed:,} of {detail.total_samples:,} samples are shown"
    errors, counted = _errors_of(detail), sum(each.rollouts for each in overview.errors)
    if counted < errors:
        yield f"Errors are listed for {counted:,} of {errors:,} samples"
    counts = _own(detail).get("asked_again")
    if not isinstance(counts, dict):
        return
    known = {name: count for name, count in counts.items() if isinstance(count, int) and count > 0}
    rollouts = known.pop("rollouts", 0)
    why = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in known.items())
    if rollouts:
        yield f"{rollouts:,} rollouts were retried ({why})"


def _metrics(detail: EvaluationDetail) -> Iterator[MetricLine]:
    for name, each in (detail.summary.metrics if detail.summary is not None else {}).items():
        yield MetricLine.of(name, each.count, each.mean, each.std, each.min, each.max)


def interval_facts(examples: Sequence[Sequence[float]], errors: int) -> Iterator[Fact]:
    """How well the mean is known, over the rewards of each example and so many errors."""
    if interval := precision(examples).interval:
        ends = format_interval((interval.low, interval.high))
        yield Fact("95 % interval", f"{ends} ({interval.method})")
    limits = bounds([reward for rewards in examples for reward in rewards], errors)
    if errors and limits.low is not None and limits.high is not None:
        yield Fact("Errors as 0, or left out", format_interval((limits.low, limits.high)))
