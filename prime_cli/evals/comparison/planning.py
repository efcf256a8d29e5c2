"""How large a comparison must be: `prime eval power`."""

import math
from dataclasses import dataclass, replace

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.comparison.pairing import pair
from prime_cli.evals.comparison.sides import Side
from prime_cli.evals.statistics import spread


class Variation(msgspec.Struct, frozen=True):
    """How rewards vary: their mean, the variance of one, and the part between examples.

    `correlation` is that of both models' expected rewards over examples; `source` says where all
    of it is from.
    """

    variance: float
    icc: float
    correlation: float
    source: str
    mean: float | None = None
    is_binary: bool = False


class Need(msgspec.Struct, frozen=True):
    """An answer: `examples` with `rollouts` each, for each model, show `difference`.

    `examples` is null where no number under 10 million does, `difference` where none is shown.
    `spread` is the standard deviation of per-example differences, `discordance` the share of
    examples that change (0/1 rewards with one rollout).
    """

    difference: float | None
    examples: int | None
    rollouts: int
    alpha: float
    power: float
    method: str
    source: str
    spread: float | None = None
    discordance: float | None = None
    correlation: float | None = None
    icc: float | None = None


@dataclass(frozen=True)
class Question:
    """What is wanted: the examples for `difference`, or the difference that `examples` show."""

    difference: float | None
    examples: int | None
    rollouts: int
    alpha: float
    power: float

    def check(self) -> None:
        """Raise UsageError for numbers that cannot be meant."""
        if (self.difference is None) == (self.examples is None):
            raise UsageError(
                "Say either which difference or how many examples",
                hint="as in `prime eval power --rate 0.6 --difference 0.05`",
            )
        if self.difference is not None and not 0 < self.difference < math.inf:
            raise UsageError(f"`--difference {self.difference}` is not above 0")
        for name, value in (("--alpha", self.alpha), ("--power", self.power)):
            if not 0 < value < 1:
                raise UsageError(f"`{name} {value}` is not between 0 and 1")
        if self.power <= self.alpha:
            raise UsageError(f"`--power {self.power}` is not above alpha ({self.alpha})")


def variation_of(side: Side, correlation: float) -> Variation:
    """The variation within and between the examples of a run (one-way analysis of variance).

    With one rollout of each example nothing tells them apart: all of it counts as between.
    """
    clusters = [example.rewards for example in side.examples.values() if example.rewards]
    rewards = [reward for cluster in clusters for reward in cluster]
    if len(clusters) <= 1:
        raise UsageError(f"Run {side.run} has fewer than two examples with a reward")
    mean = math.fsum(rewards) / len(rewards)
    between, within = _components(clusters, mean)
    variance = between + within
    if not variance:
        raise UsageError(
            f"All rewards of run {side.run} are the same",
            hint="give the numbers: `prime eval power --rate 0.6 --difference 0.05`",
        )
    source = f"run {side.run}: {len(clusters)} examples, {len(rewards)} rewards"
    binary = set(rewards) <= {0.0, 1.0}
    return Variation(variance, between / variance, correlation, source, mean, binary)


def _components(clusters: list[list[float]], mean: float) -> tuple[float, float]:
    """Variance between and within clusters, of unequal sizes too (Searle, 1971, chapter 10)."""
    total, count = sum(len(cluster) for cluster in clusters), len(clusters)
    means = [math.fsum(cluster) / len(cluster) for cluster in clusters]
    outer = math.fsum(
        len(cluster) * (own - mean) ** 2 for cluster, own in zip(clusters, means, strict=True)
    ) / (count - 1)
    if total == count:
        return outer, 0.0
    inner = math.fsum(
        (reward - own) ** 2
        for cluster, own in zip(clusters, means, strict=True)
        for reward in cluster
    ) / (total - count)
    size = (total - sum(len(cluster) ** 2 for cluster in clusters) / total) / (count - 1)
    return max(0.0, (outer - inner) / size), inner


def need_of(question: Question, variation: Variation) -> Need:
    """Answer from a Variation; 0/1 rewards with one rollout by McNemar, others by Student's t."""
    from prime_cli.evals.comparison.power import spread_of_differences

    if variation.is_binary and variation.mean is not None and question.rollouts == 1:
        return _binary_need(question, variation, variation.mean)
    wide = spread_of_differences(
        variation.variance,
        icc=variation.icc,
        correlation=variation.correlation,
        rollouts=question.rollouts,
    )
    return msgspec.structs.replace(
        need_of_spread(question, wide, variation.source),
        correlation=variation.correlation,
        icc=variation.icc,
    )


def need_of_spread(question: Question, wide: float, source: str) -> Need:
    """Answer from the standard deviation of per-example differences."""
    from prime_cli.evals.comparison.power import detectable_by_t, examples_by_t

    terms = {"alpha": question.alpha, "power": question.power}
    difference, examples = question.difference, question.examples
    if difference is not None:
        examples = examples_by_t(difference, wide, **terms) if wide else 2
    elif examples is not None:
        difference = detectable_by_t(wide, examples, **terms)
    return _answer(question, difference, examples, "paired t-test", source, spread=wide)


def need_of_discordance(question: Question, discordance: float, source: str) -> Need:
    """Answer for 0/1 rewards of which the share `discordance` changes."""
    from prime_cli.evals.comparison.power import detectable_by_mcnemar, examples_by_mcnemar

    terms = {"alpha": question.alpha, "power": question.power}
    difference, examples = question.difference, question.examples
    if difference is not None:
        if difference > discordance:
            raise UsageError(
                f"A difference of {difference} needs more than {discordance:g} of all examples "
                "to change"
            )
        examples = examples_by_mcnemar(difference, discordance, **terms)
    elif examples is not None:
        difference = detectable_by_mcnemar(discordance, examples, **terms)
    return _answer(
        question, difference, examples, "McNemar (Connor)", source, discordance=discordance
    )


def _binary_need(question: Question, variation: Variation, rate: float) -> Need:
    from prime_cli.evals.comparison.power import discordance_of

    # Up where there is room; the other way round is the same question.
    change = question.difference or 0.0
    other = rate + change if rate + change <= 1 else rate - change
    if not 0 <= other <= 1:
        raise UsageError(f"From a rate of {rate:g} nothing can change by {change:g}")
    agreement = variation.icc * variation.correlation
    changing = discordance_of(rate, other, agreement)
    return msgspec.structs.replace(
        need_of_discordance(question, changing, variation.source),
        correlation=variation.correlation,
        icc=variation.icc,
    )


def need_of_pair(question: Question, first: Side, other: Side) -> Need:
    """Answer from two runs that may be compared, with as many rollouts as they have.

    Raises Conflict where they may not.
    """
    pairs = pair(first, other)
    size = len(pairs.ids)
    source = f"the differences between runs {first.run} and {other.run}, {size} examples"
    rollouts = max(1, round(other.rollouts / len(other.examples)))
    asked = replace(question, rollouts=rollouts)
    if pairs.is_binary:
        changed = sum(difference != 0 for difference in pairs.differences)
        return need_of_discordance(asked, changed / size, source)
    wide = (spread(pairs.differences).std or 0.0) * math.sqrt(size / max(1, size - 1))
    return need_of_spread(asked, wide, source)


def _answer(
    question: Question,
    difference: float | None,
    examples: int | None,
    method: str,
    source: str,
    **known: float,
) -> Need:
    return Need(
        difference=difference,
        examples=examples,
        rollouts=question.rollouts,
        alpha=question.alpha,
        power=question.power,
        method=method,
        source=source,
        **known,
    )
