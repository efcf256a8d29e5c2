"""What a comparison comes to: the object that `prime eval compare --output json` prints."""

import msgspec

from prime_cli.runs.retries import AskedAgain

HIGHER = "higher"
LOWER = "lower"
UNDECIDED = "not decisive"


class SideFacts(msgspec.Struct, frozen=True):
    """One of the two runs; `mean` is over the paired examples, each counting once.

    `rollouts`, `errors` and `asked_again` are of the whole run. `name` is a run's id, or a hub
    evaluation's.
    """

    name: str
    environment: str
    model: str
    mean: float
    rollouts: int
    errors: int
    asked_again: AskedAgain | None = None


class PairCounts(msgspec.Struct, frozen=True):
    """Examples compared, and those that were not.

    `one_sided` are in one run only, `unlike` ask something else there, `unscored` have no rollout
    that counts on a side.
    """

    compared: int
    one_sided: int
    unlike: int
    unscored: int


class Flip(msgspec.Struct, frozen=True):
    """An example whose mean reward is not the same in both runs."""

    example_id: int
    first: float
    other: float


class Comparison(msgspec.Struct, frozen=True):
    """`other` against `first`: `difference` is other - first, its mean over examples.

    `interval` is null where too few examples differ to tell; it is for this comparison alone.
    `p` is two-sided, `p_adjusted` Holm's over all of the report, which alone decides `verdict`:
    `higher`, `lower` or `not decisive`. `detectable` is the smallest true difference that as many
    examples show in 80 of 100 cases. `disagreement` says in a sentence that the interval and the
    verdict do not say the same of 0, null where they do. `flips` come largest change first.
    `notes` name what else is not the same in both runs.
    """

    first: SideFacts
    other: SideFacts
    examples: PairCounts
    difference: float
    stderr: float | None
    interval: tuple[float, float] | None
    interval_method: str
    p: float
    test: str
    p_adjusted: float
    verdict: str
    sentence: str
    detectable: float | None
    flips: list[Flip]
    notes: list[str] = []
    disagreement: str | None = None


class Report(msgspec.Struct, frozen=True):
    """All comparisons of one command. `errors` is `left out` or `as zero`.

    `seed` is that of the draws, `unmatched` names runs without a counterpart.
    """

    alpha: float
    seed: int
    errors: str
    comparisons: list[Comparison]
    unmatched: list[str] = []
