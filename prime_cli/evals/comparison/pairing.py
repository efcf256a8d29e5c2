"""Which examples of two runs are the same, and what each earned there."""

from prime_cli.core.errors import Conflict
from prime_cli.evals.comparison.sides import Example, Side
from prime_cli.statistics.pairs import Pairs


def pair(first: Side, other: Side, *, errors_as_zero: bool = False, force: bool = False) -> Pairs:
    """Pair by example id, and only examples whose prompt and answer agree where both are known.

    Raises Conflict for runs of different content, unless forced, and when nothing pairs.
    """
    if not force:
        _check_content(first, other)
    shared = sorted(first.examples.keys() & other.examples.keys())
    alike = [i for i in shared if _agree(first.examples[i], other.examples[i])]
    unlike = len(shared) - len(alike)
    if unlike and not force:
        raise Conflict(
            f"{unlike} of {len(shared)} examples of {other.run} ask something else than "
            f"those of {first.run}",
            hint="compare the others with `--force`",
        )
    means = {
        i: _means(first.examples[i], other.examples[i], errors_as_zero=errors_as_zero)
        for i in alike
    }
    scored = {i: found for i, found in means.items() if found is not None}
    if not scored:
        raise Conflict(
            f"No example of {other.run} pairs with one of {first.run}",
            hint=f"see what they hold with `prime eval show {other.run} --output jsonl`",
        )
    return Pairs(
        ids=list(scored),
        first=[a for a, _ in scored.values()],
        other=[b for _, b in scored.values()],
        is_binary=all(
            _is_binary(side.examples[i], errors_as_zero=errors_as_zero)
            for side in (first, other)
            for i in scored
        ),
        one_sided=len(first.examples.keys() ^ other.examples.keys()),
        unlike=unlike,
        unscored=len(alike) - len(scored),
    )


def contents_differ(first: Side, other: Side) -> str | None:
    """What says that two runs are not of one environment and data; None when nothing does."""
    if first.sha256 and other.sha256 and first.sha256 != other.sha256:
        return (
            f"{first.environment} ({first.sha256[:8]}) and "
            f"{other.environment} ({other.sha256[:8]}) are different wheels"
        )
    # The fingerprint is of all examples of a run: those of runs of different size always differ.
    same_size = len(first.examples) == len(other.examples)
    known = first.fingerprint and other.fingerprint
    if known and same_size and first.fingerprint != other.fingerprint:
        return f"{first.run} and {other.run} had different examples"
    return None


def _check_content(first: Side, other: Side) -> None:
    found = contents_differ(first, other)
    if found:
        raise Conflict(found, hint="compare what is the same in both with `--force`")


def _agree(first: Example, other: Example) -> bool:
    asked = ((first.prompt, other.prompt), (first.answer, other.answer))
    return all(a == b for a, b in asked if a is not None and b is not None)


def _means(first: Example, other: Example, *, errors_as_zero: bool) -> tuple[float, float] | None:
    a, b = (each.mean(errors_as_zero=errors_as_zero) for each in (first, other))
    return None if a is None or b is None else (a, b)


def _is_binary(example: Example, *, errors_as_zero: bool) -> bool:
    counted = len(example.rewards) + (example.errors if errors_as_zero else 0)
    return counted == 1 and all(reward in (0.0, 1.0) for reward in example.rewards)
