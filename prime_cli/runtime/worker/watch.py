"""Sees what verifiers hides: the rollouts within a group, and reward functions that raise.

verifiers v0 logs a raising reward function and goes on with a reward of 0; the log record is the
only trace of it. A unit of work collects such records, and its rollouts' states, in a `Unit`.
"""

import asyncio
import logging
import re
import sys
from contextvars import ContextVar
from typing import Any

from .identity import Identity, acting_for

current_unit: ContextVar["Unit | None"] = ContextVar("prime_unit", default=None)
RAISED = re.compile(r"Error calling (?:group )?reward function (.+?): (.*)", re.DOTALL)


class Unit:
    """What is seen of one unit while it runs.

    `raised` are the messages, and `exceptions` the exceptions themselves, by reward function.
    """

    def __init__(self, identities: list[Identity]) -> None:
        self.identities = identities
        self.states: list[Any] = [None] * len(identities)
        self.errors: list[Exception | None] = [None] * len(identities)
        self.raised: dict[str, str] = {}
        self.exceptions: dict[str, BaseException | None] = {}
        self.tasks: list[asyncio.Task[Any]] = []
        self._begun = 0

    def begin(self) -> int:
        """The position of the rollout that begins now: they begin in the order of the inputs."""
        position = self._begun % len(self.identities)
        self._begun += 1
        return position

    async def end(self) -> None:
        """Give up rollouts that are still running: their group has failed."""
        running = [task for task in self.tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=5.0)


def watch_rollouts(environment: Any) -> None:
    """Wrap `environment.rollout` so that each rollout has its own identity and leaves its state."""
    rollout = environment.rollout

    async def watched(*args: Any, **kwargs: Any) -> Any:
        unit = current_unit.get()
        if unit is None:
            return await rollout(*args, **kwargs)
        position = unit.begin()
        task = asyncio.current_task()
        if task is not None:
            unit.tasks.append(task)
        try:
            with acting_for(unit.identities[position]):
                result = await rollout(*args, **kwargs)
        except Exception as error:
            unit.errors[position] = error
            raise
        # (completion, state) up to 0.1.7, the state later
        unit.states[position] = result[1] if isinstance(result, tuple) else result
        return result

    environment.rollout = watched


def watch_scoring() -> None:
    """Collect reward functions that raise."""
    logging.getLogger("verifiers").addHandler(_RaisedRewards(level=logging.ERROR))


class _RaisedRewards(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        unit = current_unit.get()
        found = RAISED.match(record.getMessage())
        if unit is not None and found:
            unit.raised[found[1]] = found[2]
            # verifiers logs while it handles the exception, which it then forgets.
            unit.exceptions[found[1]] = sys.exc_info()[1]
