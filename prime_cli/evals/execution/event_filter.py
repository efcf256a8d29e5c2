"""What a worker may say: it runs code of others, which can write to its events as it does."""

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.runs.plan import ALL, EvalPlan
from prime_cli.runs.tally import Pair
from prime_cli.runs.work_list import GROUP, Orders
from prime_cli.runtime.protocol import Rollout, Start

MOST_ROLLOUTS = 10_000_000
"""Of one run; what they are is held in memory."""


class Admission:
    """Lets through the events of one worker that answer what it was asked by `orders`.

    An environment scores itself, and can lie about its own rollouts. What it cannot do is to report
    others: those of examples that are not run, or that have been scored before.
    """

    def __init__(self, plan: EvalPlan, orders: Orders) -> None:
        self._plan = plan
        self._orders = orders
        self._done = set(orders.done)
        self._examples = -1
        self._unit = ""

    def begin(self, start: Start) -> None:
        """Take down how many examples there are; raises EnvironmentFailed."""
        most = self._plan.num_examples
        rollouts = self._plan.rollouts_per_example
        if (
            self._examples >= 0
            or not 0 <= start.examples <= MOST_ROLLOUTS // rollouts
            or (most != ALL and start.examples > most)
            or start.planned != start.examples * rollouts
            or not 0 <= start.owed <= start.planned
        ):
            raise self._refused(f"{start.examples} examples, {start.planned} rollouts")
        self._examples, self._unit = start.examples, start.unit

    def check(self, event: Rollout) -> None:
        """Raise EnvironmentFailed for a rollout that was not asked for."""
        pair = event.example_id, event.rollout
        there = 0 <= pair[0] < self._examples and 0 <= pair[1] < self._plan.rollouts_per_example
        if not there or self._is_done(pair) or not self._is_due(event):
            raise self._refused(f"rollout {pair[1]} of example {pair[0]}, attempt {event.attempt}")

    def _is_done(self, pair: Pair) -> bool:
        if self._unit != GROUP:
            return pair in self._done
        # A group that lacks one rollout is run whole.
        rollouts = range(self._plan.rollouts_per_example)
        return all((pair[0], rollout) in self._done for rollout in rollouts)

    def _is_due(self, event: Rollout) -> bool:
        attempts = self._orders.attempts
        rollouts = range(self._plan.rollouts_per_example)
        # A group goes by the attempt of the one among it that was tried most often.
        last = max(attempts.get((event.example_id, rollout), 1) for rollout in rollouts)
        first = attempts.get((event.example_id, event.rollout), 1)
        return first <= event.attempt <= last + self._plan.max_retries

    def _refused(self, what: str) -> EnvironmentFailed:
        return EnvironmentFailed(
            f"`{self._plan.environment.name}` reported what it was not asked for: {what[:200]}",
            hint="code of the environment writes where only the worker does: do not trust it",
        )
