"""Where a run that is made again comes from."""

from collections.abc import Callable
from dataclasses import dataclass, field

from prime_cli.runs.folder import RunFolder
from prime_cli.runs.retries import AskedAgain
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import Pair, Tally

LayOut = Callable[[RunFolder, Tally, Scrubber], None]
"""Puts into the folder of a new run, and its tally, what it has from the earlier one."""


@dataclass(frozen=True)
class Origin:
    """The run or evaluation that this one makes again, in one of two ways, by its id.

    The first `examples` must have `fingerprint`, unless that is None. `left_out` are rollouts that
    are not made again, `kept` those that `lay_out` takes over as they are. With `is_direct`
    rewards are given to the completions that `lay_out` saved, whose run asked again `asked_again`.
    """

    rerun_of: str | None = None
    rescored_of: str | None = None
    examples: int = 0
    fingerprint: str | None = None
    left_out: frozenset[Pair] = field(default_factory=frozenset)
    kept: frozenset[Pair] = field(default_factory=frozenset)
    lay_out: LayOut | None = None
    is_direct: bool = False
    asked_again: AskedAgain | None = None
