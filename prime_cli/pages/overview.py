"""What the page of an evaluation shows of its samples together."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prime_cli.core.formatting import format_interval
from prime_cli.pages.runs import ErrorLine, Fact, Scale, metric_charts, reward_chart
from prime_cli.pages.templates import Html
from prime_cli.runs.rows import LARGEST
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.statistics.intervals import bounds, precision


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
            examples.setdefault(line.place[0], []).extend(rewards_of([line]))
        rewards = rewards_of(lines)
        intervals = interval_facts(list(examples.values()), errors) if len(lines) == total else ()
        charts = [reward_chart(rewards), *metric_charts(metrics)]
        return cls(Scale.of(rewards), list(intervals), charts, kinds)


class EvaluationSamples(NamedTuple):
    """One page of the samples, `total` of which match the filter, and the overview of all."""

    shown: Sequence[SampleLine] = ()
    total: int = 0
    overview: Overview = Overview()


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
