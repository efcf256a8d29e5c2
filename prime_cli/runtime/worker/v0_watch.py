"""Observe what verifiers hides: the rollouts of a group, and reward functions that raise.

verifiers v0 logs a raising reward function and continues with a reward of 0; the log record is the
only trace of it. Such records, and the states of rollouts, are collected for each unit in a
`UnitTrace`.
"""

import asyncio
import logging
import re
import sys
from contextvars import ContextVar
from typing import Any

from . import failures
from .guards import contained
from .request_identity import RolloutIdentity, acting_for

current_unit: ContextVar["UnitTrace | None"] = ContextVar("prime_unit", default=None)
RAISED = re.compile(r"Error calling (?:group )?reward function (.+?): (.*)", re.DOTALL)
RUBRICS = ("verifiers.legacy.rubrics.rubric", "verifiers.rubrics.rubric")
"""The module of verifiers' own rubric, since 0.3.1 and before."""


class UnitTrace:
    """What was observed of one unit.

    `raised` holds messages and `exceptions` the exceptions, by reward function.
    """

    def __init__(self, identities: list[RolloutIdentity]) -> None:
        self.identities = identities
        self.states: list[Any] = [None] * len(identities)
        self.errors: list[BaseException | None] = [None] * len(identities)
        self.raised: dict[str, str] = {}
        self.exceptions: dict[str, BaseException | None] = {}
        self.tasks: list[asyncio.Task[Any]] = []
        self._begun = 0

    def begin(self) -> int:
        """The position of the next rollout: rollouts begin in the order of the inputs."""
        position = self._begun % len(self.identities)
        self._begun += 1
        return position

    async def end(self) -> None:
        """Cancel rollouts that are still running: their group has failed."""
        running = [task for task in self.tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=5.0)


def watch_rollouts(environment: Any) -> None:
    """Wrap `environment.rollout` so that each rollout has its own identity and leaves its state."""
    rollout = environment.rollout

    async def watched(*args: Any, **kwargs: Any) -> Any:
        unit, task = current_unit.get(), asyncio.current_task()
        # A group of environments calls its members: some releases by `rollout`, others not.
        if unit is None or task is None or task in unit.tasks:
            return await rollout(*args, **kwargs)
        position = unit.begin()
        unit.tasks.append(task)
        try:
            with acting_for(unit.identities[position]):
                result = await rollout(*args, **kwargs)
        except BaseException as error:
            if not failures.is_cancellation(error):
                unit.errors[position] = error
            raise
        unit.states[position] = _state_of(result)
        return result

    environment.rollout = watched


def _state_of(result: Any) -> Any:
    """Up to 0.1.7 a rollout returns (completion, state), and the state lacks the completion."""
    if not isinstance(result, tuple):
        return result
    completion, state = result
    return {**state, "completion": completion}


def watch_scoring() -> None:
    """Collect reward functions that raise; one that would end the process raises a CodeExit."""
    logging.getLogger("verifiers").addHandler(_RaisedRewards(level=logging.ERROR))
    rubrics: Any = next(filter(None, map(sys.modules.get, RUBRICS)), None)
    if rubrics is not None:
        # Every release calls them by this function, and takes an Exception out of it for a 0.
        call = rubrics.maybe_await
        rubrics.maybe_await = lambda *args, **named: contained(call(*args, **named))


class _RaisedRewards(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        unit = current_unit.get()
        found = RAISED.match(record.getMessage())
        if unit is not None and found:
            unit.raised[found[1]] = found[2]
            # verifiers logs while it handles the exception, which it then forgets.
            unit.exceptions[found[1]] = sys.exc_info()[1]
