"""What a run says while it goes on: who plays the agents, and what is waited for."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from prime_cli.core.progress import Progress, Task
from prime_cli.models.gateway.calls import WaitStatus
from prime_cli.runtime.protocol import AgentInfo


def announce_agents(agents: Sequence[AgentInfo], progress: Progress, *, sandbox: bool) -> None:
    """Say where agents run that would run elsewhere by default, and whose model runs commands."""
    moved = [agent for agent in agents if agent.instead_of]
    if moved:
        progress.say(
            f"{_names(moved)} {'runs' if len(moved) == 1 else 'run'} "
            f"{'in the sandbox' if sandbox else 'on this machine'}, not in the runtime "
            f"`{moved[0].instead_of}`, the default of verifiers"
        )
    exposed = [agent for agent in agents if agent.runs_commands and agent.runtime == "subprocess"]
    if exposed and not sandbox:
        progress.warn(
            f"The model may run commands on this machine as you: {_harnesses(exposed)}",
            hint="isolate it with `--sandbox`, or choose a runtime: "
            f'`-x \'{{"{exposed[0].name}": {{"runtime": {{"type": "docker"}}}}}}\'`',
        )


def _names(agents: Sequence[AgentInfo]) -> str:
    names = ", ".join(f"`{agent.name}`" for agent in agents)
    return f"{'Agent' if len(agents) == 1 else 'Agents'} {names}"


def _harnesses(agents: Sequence[AgentInfo]) -> str:
    return ", ".join(f"`{agent.name}` uses the harness `{agent.harness}`" for agent in agents)


TICK_SECONDS = 1.0
PATIENCE_SECONDS = 20.0
"""Endpoints may take this long over an answer before it is worth a word."""


def waiting_words(waits: WaitStatus) -> str:
    """`waiting on 429: 12 of 64, next try in 20s`, `waiting for the endpoint: 45s`, or nothing."""
    if waits.held:
        words = f"waiting on 429: {waits.held} of {waits.calls}"
        seconds = math.ceil(waits.next_seconds)
        return f"{words}, next try in {_span(seconds)}" if seconds > 1 else words
    if waits.silent_seconds >= PATIENCE_SECONDS:
        return f"waiting for the endpoint: {_span(int(waits.silent_seconds))}"
    return ""


def _span(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


class WaitingTask:
    """A task that also says what is waited for; `tick` brings that up to date."""

    def __init__(self, task: Task, waits: Callable[[], WaitStatus]) -> None:
        self._task = task
        self._waits = waits

    def advance(self, amount: int = 1) -> None:
        """Some more is done."""
        self._task.advance(amount)

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Learn the total, or change what is said."""
        self._task.update(total=total, note=note, alert=alert)

    def tick(self) -> None:
        """Look again at what is waited for."""
        self._task.update(alert=waiting_words(self._waits()))


@asynccontextmanager
async def calling_every_second(show: Callable[[], None]) -> AsyncIterator[None]:
    """Within, `show` is called every second."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            show()

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
