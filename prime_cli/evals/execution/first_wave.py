"""Whether the first rollouts of a session all fail alike, so that the others would as well."""

import re
from collections.abc import Collection

from prime_cli.core.errors import (
    EnvironmentFailed,
    NotAllowed,
    NotLoggedIn,
    PartialResult,
    PrimeError,
    Unreachable,
)
from prime_cli.evals.execution.worker_errors import last_lines
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import Pair

SMALLEST = 3
"""Fewer failures than these may be chance, however few rollouts run at a time."""

# Names of requests, addresses in memory, times, counts: what tells one failure from its like.
_PARTICULAR = re.compile(r"\b(?=\w*\d)[\w-]+\b")
_REFUSED_REQUESTS = frozenset(("BadRequestError", "UnprocessableEntityError", "APIStatusError"))
_ABOUT_CONTENT = re.compile(r"content|polic|moderat|safety|flagged", re.IGNORECASE)

_CLASS_OF_TYPE: dict[str, type[PrimeError]] = {
    "AuthenticationError": NotLoggedIn,
    "PermissionDeniedError": NotAllowed,
    "InfraError": EnvironmentFailed,
    "SandboxError": EnvironmentFailed,
    "TunnelError": EnvironmentFailed,
}
_CLASS_OF_KIND: dict[str, type[PrimeError]] = {
    "infra": Unreachable,
    "environment": EnvironmentFailed,
    "model": PartialResult,
}


class FirstWave:
    """The rollouts of the units that begin first, until one of them shows that there is hope.

    Not those that end first: where some examples fail at once and others take their time, the
    first to end are all failures.
    """

    def __init__(self, pairs: Collection[Pair]) -> None:
        self.size = len(pairs)
        self._waiting = set(pairs)
        self._first: Failure | None = None

    def take(self, row: Row) -> Failure | None:
        """Look at a finished rollout; the failure of all of them once that is certain."""
        pair = row.example_id, row.rollout
        if pair not in self._waiting:
            return None
        self._waiting.remove(pair)
        if not self._is_alike(row.error):
            self._waiting.clear()
            return None
        return None if self._waiting else self._first

    def _is_alike(self, failure: Failure | None) -> bool:
        if failure is None or not _is_of_every_rollout(failure):
            return False
        if self._first is None:
            self._first = failure
        return _likeness(failure) == _likeness(self._first)


def _is_of_every_rollout(failure: Failure) -> bool:
    """Whether it could be about all rollouts: what a model said or may not be asked is not."""
    if failure.kind != "model":
        return True
    return failure.type in _REFUSED_REQUESTS and not _ABOUT_CONTENT.search(failure.message)


def _likeness(failure: Failure) -> tuple[str, str, str]:
    return failure.kind, failure.type, _PARTICULAR.sub("#", failure.message)


def hopeless(
    failure: Failure, size: int, run_id: str, scrub: Scrubber, *, asked: str | None = None
) -> PrimeError:
    """The PrimeError for a run whose first `size` rollouts all ended in `failure`.

    `asked` is how to allow what the environment asked for and was not given.
    """
    default = _CLASS_OF_KIND[failure.kind]
    kind = _CLASS_OF_TYPE.get(failure.type, default) if default is Unreachable else default
    first = scrub.text(failure.message).strip().partition("\n")[0]
    look = (
        f"see one with `prime eval show {run_id} --errors`; with `--no-fail-fast` a run goes on "
        "all the same"
    )
    return kind(
        f"The first {size} rollouts all ended in the same error: {failure.type}: {first}",
        hint="; ".join(filter(None, (asked, look))),
        detail=last_lines(scrub.text(failure.traceback or "")),
    )
