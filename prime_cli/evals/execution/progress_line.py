"""The progress line of a run: reward, speed and time left, and what the run waits for."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from prime_cli.core.formatting import format_duration, format_number, pluralize
from prime_cli.core.progress import Progress, Task
from prime_cli.models.gateway.calls import WaitStatus
from prime_cli.models.prices import Spend, format_cost
from prime_cli.runs.manifest import MOST_WARNINGS
from prime_cli.runs.tally import Tally
from prime_cli.runtime.protocol import AgentInfo, Caution, LogMessage

LOADING = "loading the environment"

_LONGEST_WARNING = 300


class Pace:
    """How fast a session of `owed` rollouts goes."""

    def __init__(
        self, owed: int, concurrency: int, before: Spend, clock: Callable[[], float]
    ) -> None:
        self._owed = owed
        self._first = min(concurrency, owed // 2)
        self._before = before
        self._clock = clock
        self._began = clock()

    def seconds_left(self, done: int) -> float | None:
        """Seconds that the rest takes; None for none, or before the first ones tell it."""
        if done >= self._owed or done < max(1, self._first):
            return None
        return (self._clock() - self._began) / done * (self._owed - done)

    def speed(self, spent: Spend) -> float | None:
        """Tokens of output a second; None where a built-in model only estimated them."""
        used, seconds = (spent - self._before).usage, self._clock() - self._began
        return used.output / seconds if used.output and not used.estimated and seconds else None


def progress_note(
    tally: Tally,
    spent: Spend | None = None,
    *,
    left: float | None = None,
    speed: float | None = None,
) -> str:
    """The running mean, errors, time left, cost and speed where they are known."""
    mean = tally.running_mean
    words = "no reward yet" if mean is None else f"reward {format_number(mean)}"
    if tally.errored:
        words += f", {pluralize(tally.errored, 'error')}"
    if left is not None and left >= 1:
        words += f", {format_duration(round(left))} left"
    if spent is not None and spent.picodollars:
        words += f", {format_cost(spent)}"
    if speed is not None and speed >= 1:
        words += f", {speed:,.0f} tokens/s"
    if spent is not None and spent.usage.hits:
        hits = spent.usage.hits
        words += f", {hits:,} of {hits + spent.usage.calls:,} cached"
    return words


def announce_agents(agents: Sequence[AgentInfo], progress: Progress, *, sandbox: bool) -> None:
    """Report agents that do not run in their default place, and whose model runs commands."""
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


def say_of_worker(
    event: Caution | LogMessage,
    scrub: Callable[[str], str],
    known: dict[str, None],
    progress: Progress,
) -> None:
    """Say what a worker reports; what its environment warns of once, and keep it in `known`."""
    text = scrub(event.text)
    if isinstance(event, LogMessage):
        progress.say(text)
        return
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    text = " ".join(line.split())[:_LONGEST_WARNING]
    if text and text not in known and len(known) < MOST_WARNINGS:
        known[text] = None
        progress.say(f"The environment warns: {text}")


def _names(agents: Sequence[AgentInfo]) -> str:
    names = ", ".join(f"`{agent.name}`" for agent in agents)
    return f"{'Agent' if len(agents) == 1 else 'Agents'} {names}"


def _harnesses(agents: Sequence[AgentInfo]) -> str:
    return ", ".join(f"`{agent.name}` uses the harness `{agent.harness}`" for agent in agents)


TICK_SECONDS = 1.0


PATIENCE_SECONDS = 20.0
"""Seconds that an answer may take before the wait is shown."""


def waiting_words(waits: WaitStatus) -> str:
    """`waiting on 429: 12 of 64, next try in 20s`, `waiting for the endpoint: 45s`, or nothing."""
    if waits.held:
        words = f"waiting on 429: {waits.held} of {waits.calls}"
        seconds = math.ceil(waits.next_seconds)
        return f"{words}, next try in {format_duration(seconds)}" if seconds > 1 else words
    if waits.silent_seconds >= PATIENCE_SECONDS:
        return f"waiting for the endpoint: {format_duration(int(waits.silent_seconds))}"
    return ""


class WaitingTask:
    """A task that also says what is waited for: by the gateway, or a load that is `slow`.

    `tick` brings that up to date.
    """

    def __init__(
        self, task: Task, waits: Callable[[], WaitStatus], slow: Callable[[], str] = str
    ) -> None:
        self._task = task
        self._waits = waits
        self._slow = slow

    def advance(self, amount: int = 1) -> None:
        """Advance the task."""
        self._task.advance(amount)

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Set the total or the description."""
        self._task.update(total=total, note=note, alert=alert)

    def tick(self) -> None:
        """Update what is waited for."""
        self._task.update(alert=waiting_words(self._waits()) or self._slow())


@asynccontextmanager
async def calling_every_second(show: Callable[[], None]) -> AsyncIterator[None]:
    """While open, call `show` every second."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            show()

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
