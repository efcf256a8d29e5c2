"""The pages of an evaluation on a hub and of its samples, as those of a local run."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from prime_cli.core.errors import TooLarge
from prime_cli.core.formatting import pluralize
from prime_cli.pages.conversation import FIRST, Cursor
from prime_cli.pages.links import comparison_path, environment_path, evaluation_path
from prime_cli.pages.rollout import (
    RolloutView,
    Sample,
    part_of,
    render_rollout,
    tokens_page,
    view_rollout,
)
from prime_cli.pages.runs import (
    EMPTY,
    EVERYTHING,
    NOTHING,
    Cell,
    ErrorLine,
    Fact,
    GridLine,
    Link,
    MetricLine,
    RunFilter,
    RunView,
    Scale,
    download_links,
    metric_charts,
    render_run,
    reward_chart,
    some_facts,
)
from prime_cli.pages.samples import sample_of, usage_facts
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import whole_text
from prime_cli.pages.tokens import finite
from prime_cli.runs.rows import LARGEST
from prime_cli.statistics.intervals import bounds, precision
from prime_cli.wire.codec import decode
from prime_cli.wire.evaluations import CLOSED, EvaluationDetail, SampleQuery

SAMPLES_PER_PAGE = 200
_LARGEST_SAMPLE = 2 << 20
"""Bytes of JSON that a page lays out."""

_NAMES = msgspec.json.Decoder(list[str])


class SampleLine(NamedTuple):
    """A sample without its body; `identity` is what it says it is, as JSON, if it does."""

    number: int
    identity: str | None
    reward: float | None
    failed: bool

    @property
    def place(self) -> tuple[str, str]:
        """The example and the rollout, as far as the sample tells them."""
        try:
            parts = _NAMES.decode(self.identity or "")
        except ValueError:
            parts = []
        match parts:
            case [example, rollout]:
                return example, rollout
            case [name]:
                example, _, rollout = name.rpartition(".")
                return (example, rollout) if example else (name, "")
        return str(self.number), ""


class Overview(NamedTuple):
    """What the page shows of the first thousands of samples together."""

    scale: Scale = Scale()
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
            examples.setdefault(line.place[0], []).extend(_rewards([line]))
        rewards = _rewards(lines)
        intervals = _bounds(list(examples.values()), errors) if len(lines) == total else ()
        charts = [reward_chart(rewards), *metric_charts(metrics)]
        return cls(Scale.of(rewards), list(intervals), charts, kinds)


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
) -> Page:
    """The page of an evaluation; `problem` says what is wrong with the filter."""
    path = evaluation_path(detail.evaluation_id)
    grid = _grid(samples.shown, samples.overview.scale, path)
    pages = max(1, -(-samples.total // SAMPLES_PER_PAGE))
    view = RunView(
        path=path,
        title=detail.name,
        status=detail.status.lower(),
        command=f"prime eval get {detail.evaluation_id}",
        facts=list(_facts(detail, samples.overview.intervals)),
        parameters=list(_parameters(detail)),
        notes=list(_notes(detail, samples.overview.errors)),
        charts=samples.overview.charts,
        metrics=list(_metrics(detail)),
        errors=samples.overview.errors,
        filter=filters,
        problem=problem,
        found=f"{pluralize(samples.total, 'sample')} found" if filters.is_set else "",
        grid=grid,
        columns=max((len(line.cells) for line in grid), default=0),
        previous=path + filters.query(page=page - 1) if page > 1 else None,
        next=path + filters.query(page=page + 1) if page < pages else None,
        downloads=download_links(path) if detail.total_samples else (),
        stream=_stream(detail, path),
        others=list(_others(detail)),
    )
    return render_run(view)


def sample_page(
    detail: EvaluationDetail,
    line: SampleLine,
    content: bytes,
    total: int,
    cursor: Cursor = FIRST,
) -> Page:
    """The page of one sample of `total`, from its JSON; raises TooLarge."""
    return render_rollout(view_sample(detail, line, content, total, cursor))


def view_sample(
    detail: EvaluationDetail,
    line: SampleLine,
    content: bytes,
    total: int,
    cursor: Cursor = FIRST,
) -> RolloutView:
    """One sample of `total`, from its JSON; raises TooLarge."""
    path = evaluation_path(detail.evaluation_id)
    return view_rollout(
        _decode(detail, line, content),
        path=_sample_path(path, line.number),
        run=Link(detail.name, path),
        title=_sample_title(line),
        previous=_sample_path(path, line.number - 1) if line.number > 1 else None,
        next=_sample_path(path, line.number + 1) if line.number < total else None,
        command=_sample_command(detail, line),
        cursor=cursor,
    )


def sample_tokens_page(
    detail: EvaluationDetail, line: SampleLine, content: bytes, pointer: str, page: int
) -> Page:
    """A page of a sample's tokens; raises NotFound, TooLarge."""
    path = _sample_path(evaluation_path(detail.evaluation_id), line.number)
    rollout = Link(_sample_title(line), path)
    command = _sample_command(detail, line)
    return tokens_page(_decode(detail, line, content), rollout, pointer, page, command)


def sample_part(
    detail: EvaluationDetail, line: SampleLine, content: bytes, pointer: str, *, indented: bool
) -> bytes:
    """All of what a sample's page shows the beginning of; raises NotFound, TooLarge."""
    return part_of(_decode(detail, line, content), pointer, indented=indented)


def _decode(detail: EvaluationDetail, line: SampleLine, content: bytes) -> Sample:
    if len(content) > _LARGEST_SAMPLE:
        raise TooLarge(
            f"Sample {line.number} has {len(content):,} bytes, too many for a page",
            hint=f"get it with `{_sample_command(detail, line)}`",
        )
    return sample_of(decode(content, dict[str, Any]))


def _sample_title(line: SampleLine) -> str:
    example, rollout = line.place
    return f"Example {example}, rollout {rollout}" if rollout else f"Sample {line.number}"


def _sample_command(detail: EvaluationDetail, line: SampleLine) -> str:
    return f"prime eval samples {detail.evaluation_id} -n 1 -p {line.number}"


def _others(detail: EvaluationDetail) -> Iterator[Link]:
    yield from (Link(name, environment_path(name)) for name in detail.environment_names)
    if detail.total_samples:
        yield Link("Compare with others", comparison_path(detail.evaluation_id))


def _stream(detail: EvaluationDetail, path: str) -> str | None:
    is_closed = detail.status in CLOSED
    return None if is_closed else f"{path}/events?known={detail.total_samples}"


def _sample_path(path: str, number: int) -> str:
    return f"{path}/samples/{number}"


def _facts(detail: EvaluationDetail, intervals: Sequence[Fact]) -> Iterator[Fact]:
    if detail.avg_score is not None:
        yield Fact("Mean reward", f"{detail.avg_score:.4g}")
    yield from intervals
    yield Fact("Model", detail.model_name or "unknown")
    errors = _errors_of(detail)
    yield Fact("Samples", f"{detail.total_samples:,}")
    if errors:
        yield Fact("Errors", f"{errors:,}")
    yield from _spent(detail)
    if detail.owner:
        yield Fact("Pushed by", detail.owner)


def _spent(detail: EvaluationDetail) -> Iterator[Fact]:
    """Tokens and cost of all samples, as far as our client told them."""
    own = detail.metadata.get("prime")
    if not isinstance(own, dict):
        return
    if isinstance(own.get("usage"), dict):
        yield from usage_facts(own["usage"])
    if (cost := finite(own.get("cost"))) is not None:
        yield Fact("Cost", f"${cost:.4g}")


def _errors_of(detail: EvaluationDetail) -> int:
    return detail.summary.errors if detail.summary is not None else 0


def _bounds(examples: Sequence[Sequence[float]], errors: int) -> Iterator[Fact]:
    interval = precision(examples).interval
    if interval is not None:
        text = f"{interval.low:.4g} to {interval.high:.4g} ({interval.method})"
        yield Fact("95 % interval", text)
    limits = bounds([reward for rewards in examples for reward in rewards], errors)
    if errors and limits.low is not None and limits.high is not None:
        yield Fact("Errors as 0, or left out", f"{limits.low:.4g} to {limits.high:.4g}")


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
    yield from (Fact(label, text) for label, text in known.items() if text)
    stated = ((name, value) for name, value in detail.metadata.items() if value not in NOTHING)
    yield from some_facts((name, whole_text(value)) for name, value in stated)


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
        yield f"{rollouts} rollouts were retried ({why})"


def _metrics(detail: EvaluationDetail) -> Iterator[MetricLine]:
    for name, each in (detail.summary.metrics if detail.summary is not None else {}).items():
        yield MetricLine.of(name, each.count, each.mean, each.std, each.min, each.max)


def _grid(lines: Sequence[SampleLine], scale: Scale, path: str) -> list[GridLine]:
    """Samples by example, in the order of the first of each."""
    examples: dict[str, list[SampleLine]] = {}
    for line in lines:
        examples.setdefault(line.place[0], []).append(line)
    columns = max(map(len, examples.values()), default=0)
    base = path.rpartition("/")[2]
    return [_grid_line(name, found, columns, scale, base) for name, found in examples.items()]


def _rewards(lines: Sequence[SampleLine]) -> list[float]:
    """Those that can be added up."""
    known = (line.reward for line in lines if line.reward is not None)
    return [reward for reward in known if abs(reward) <= LARGEST]


def _grid_line(
    name: str, lines: Sequence[SampleLine], columns: int, scale: Scale, base: str
) -> GridLine:
    cells: list[Cell] = [
        scale.cell(line.reward, "error", _sample_path(base, line.number)) for line in lines
    ]
    rewards = _rewards(lines)
    mean = f"{math.fsum(rewards) / len(rewards):.3g}" if rewards else ""
    return GridLine(name, mean, [*cells, *[EMPTY] * (columns - len(cells))])


# --- The filter ---

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(<=|>=|<|>|=|)\s*({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


def sample_query(filters: RunFilter, page: int) -> SampleQuery | None:
    """What a hub is asked for the filter of the form; None for a reward that is none.

    A hub's bounds are exclusive: those that include their end are the next number.
    """
    text = filters.reward.strip().lower()
    low, high = -math.inf, math.inf
    is_failed = filters.errors or text == "none"
    if span := _SPAN.fullmatch(text):
        low, high = sorted(map(float, span.groups()))
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    elif bound := _BOUND.fullmatch(text):
        low, high = _range(bound[1], float(bound[2]))
    elif text not in ("", "none"):
        return None
    return SampleQuery(
        limit=SAMPLES_PER_PAGE,
        page=page,
        errors_only=is_failed,
        reward_above=low if math.isfinite(low) else None,
        reward_below=high if math.isfinite(high) else None,
        search=filters.text or None,
    )


def _range(sign: str, limit: float) -> tuple[float, float]:
    """The bounds, exclusive, of the numbers in this relation to `limit`."""
    below, above = math.nextafter(limit, -math.inf), math.nextafter(limit, math.inf)
    ranges = {
        "<": (-math.inf, limit),
        "<=": (-math.inf, above),
        ">": (limit, math.inf),
        ">=": (below, math.inf),
    }
    return ranges.get(sign, (below, above))
