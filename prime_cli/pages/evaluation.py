"""The page of an evaluation on a hub, as that of a local run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from prime_cli.core.formatting import format_interval, format_number, format_usd, pluralize
from prime_cli.pages.links import comparison_path, environment_path, evaluation_path, sample_path
from prime_cli.pages.paging import Window, parse_cursor
from prime_cli.pages.runs import (
    CHARTS,
    ERRORS,
    EVERYTHING,
    LONGEST_NOTE,
    METRICS,
    NOTHING,
    ErrorLine,
    Fact,
    GridLine,
    Link,
    MetricLine,
    RewardRange,
    RunFilter,
    RunView,
    download_links,
    metric_charts,
    render_run,
    reward_chart,
    some_facts,
)
from prime_cli.pages.samples import SAMPLES_PER_PAGE, usage_facts
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import shorten, whole_text
from prime_cli.pages.tokens import finite
from prime_cli.runs.rows import LARGEST
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.statistics.intervals import bounds, precision
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail


class Overview(NamedTuple):
    """What the page shows of the first thousands of samples together."""

    scale: RewardRange = RewardRange()
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
        examples: dict[str, list[float]] = {}
        for line in lines:
            examples.setdefault(line.place[0], []).extend(rewards_of([line]))
        rewards = rewards_of(lines)
        intervals = interval_facts(list(examples.values()), errors) if len(lines) == total else ()
        charts = [reward_chart(rewards), *metric_charts(metrics)]
        return cls(RewardRange.of(rewards), list(intervals), charts, kinds)


class EvaluationSamples(NamedTuple):
    """One page of the samples, `total` of which match the filter, and the overview of all."""

    shown: Sequence[SampleLine] = ()
    total: int = 0
    overview: Overview = Overview()


def evaluation_page(
    detail: EvaluationDetail,
    samples: EvaluationSamples,
    filters: RunFilter = EVERYTHING,
    page: int = 1,
    problem: str = "",
    query: Mapping[str, str] = MappingProxyType({}),
) -> Page:
    """The page of an evaluation; `problem` says what is wrong with the filter.

    `query` has the cursors of its lists.
    """
    path = evaluation_path(detail.evaluation_id)
    here = path + filters.query(page=page)
    overview = samples.overview
    grid = _grid(samples.shown, overview.scale, path)
    metrics = list(_metrics(detail))
    pages = max(1, -(-samples.total // SAMPLES_PER_PAGE))
    view = RunView(
        path=path,
        title=detail.name,
        status=detail.status.lower(),
        command=f"prime eval get {detail.evaluation_id}",
        facts=list(_facts(detail, overview.intervals)),
        parameters=list(_parameters(detail)),
        notes=[shorten(note, LONGEST_NOTE) for note in _notes(detail, overview.errors)],
        charts=CHARTS.window(overview.charts),
        metrics=METRICS.window(metrics, parse_cursor(query, "metrics"), here, "metrics"),
        errors=ERRORS.window(overview.errors, parse_cursor(query, "errors"), here, "errors"),
        filter=filters,
        problem=problem,
        found=f"{pluralize(samples.total, 'sample')} found" if filters.is_set else "",
        grid=grid,
        columns=Window(range(max((len(line.cells) for line in grid), default=0))),
        previous=path + filters.query(page=min(page - 1, pages)) if page > 1 else None,
        next=path + filters.query(page=page + 1) if page < pages else None,
        downloads=download_links(path) if detail.total_samples else (),
        stream=_stream(detail, path),
        others=list(_others(detail)),
    )
    return render_run(view)


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
    yield Fact("Model", detail.model_name or "unknown")
    errors = _errors_of(detail)
    yield Fact("Samples", detail.progress or f"{detail.total_samples:,}")
    if errors:
        yield Fact("Errors", f"{errors:,}")
    yield from _spent(detail)
    if detail.owner:
        yield Fact("Pushed by", detail.owner)
    if detail.receipt is not None:
        yield Fact("Receipt", detail.receipt.words)
    yield Fact("Seen by", "everybody" if detail.is_public else "its owner")


def _spent(detail: EvaluationDetail) -> Iterator[Fact]:
    """Tokens and cost of all samples, as far as our client told them."""
    own = detail.metadata.get("prime")
    if not isinstance(own, dict):
        return
    if isinstance(own.get("usage"), dict):
        yield from usage_facts(own["usage"])
    if (cost := finite(own.get("cost"))) is not None:
        yield Fact("Cost", format_usd(cost))


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
    stated = ((name, value) for name, value in detail.metadata.items() if value not in NOTHING)
    told = ((name, whole_text(value)) for name, value in stated)
    yield from some_facts(chain(((label, text) for label, text in known.items() if text), told))


def _notes(detail: EvaluationDetail, kinds: Sequence[ErrorLine]) -> Iterator[str]:
    if detail.error_message:
        yield f"It failed: {detail.error_message}"
    errors, counted = _errors_of(detail), sum(each.rollouts for each in kinds)
    if counted < errors:
        yield f"Errors are listed for {counted:,} of {errors:,} samples"
    own = detail.metadata.get("prime")
    counts = own.get("asked_again") if isinstance(own, dict) else None
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


def _grid(lines: Sequence[SampleLine], scale: RewardRange, path: str) -> list[GridLine]:
    """Samples by example, in the order of the first of each."""
    examples: dict[str, list[SampleLine]] = {}
    for line in lines:
        examples.setdefault(line.place[0], []).append(line)
    base = path.rpartition("/")[2]
    return [_grid_line(name, found, scale, base) for name, found in examples.items()]


_LONGEST_NAME = 60


def _grid_line(name: str, lines: Sequence[SampleLine], scale: RewardRange, base: str) -> GridLine:
    cells = [scale.cell(line.reward, "error", sample_path(base, line.number)) for line in lines]
    rewards = rewards_of(lines)
    mean = format_number(math.fsum(rewards) / len(rewards)) if rewards else ""
    return GridLine(shorten(name, _LONGEST_NAME), mean, cells)


def interval_facts(examples: Sequence[Sequence[float]], errors: int) -> Iterator[Fact]:
    """How well the mean is known, over the rewards of each example and so many errors."""
    if interval := precision(examples).interval:
        ends = format_interval((interval.low, interval.high))
        yield Fact("95 % interval", f"{ends} ({interval.method})")
    limits = bounds([reward for rewards in examples for reward in rewards], errors)
    if errors and limits.low is not None and limits.high is not None:
        yield Fact("Errors as 0, or left out", format_interval((limits.low, limits.high)))


def rewards_of(lines: Sequence[SampleLine]) -> list[float]:
    """Those that can be added up."""
    known = (line.reward for line in lines if line.reward is not None)
    return [reward for reward in known if abs(reward) <= LARGEST]
