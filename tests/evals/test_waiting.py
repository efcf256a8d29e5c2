"""What stands beside the bar while calls wait, also when nothing ends."""

import asyncio

import pytest

from prime_cli.evals.waiting import WaitingTask, ticking, waiting_words
from prime_cli.models.gateway.calls import Waits


class Noted:
    """A task that keeps what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.total: int | None = None
        self.done = 0

    def advance(self, amount: int = 1) -> None:
        self.done += amount

    def update(self, *, total: int | None = None, note: str | None = None) -> None:
        self.total = total or self.total
        if note is not None:
            self.notes.append(note)


@pytest.mark.parametrize(
    ("waits", "words"),
    [
        (Waits(), ""),
        (Waits(64, 12, 3.0), "waiting on 429: 12 of 64"),
        (Waits(64, 0, 19.0), ""),
        (Waits(64, 0, 45.2), "waiting for the endpoint: 45s"),
        (Waits(64, 0, 125.0), "waiting for the endpoint: 2m 05s"),
    ],
)
def test_waits_are_said_in_words(waits: Waits, words: str) -> None:
    assert waiting_words(waits) == words


def test_the_note_makes_way_and_comes_back() -> None:
    waits = Waits()
    task = Noted()
    waiting = WaitingTask(task, lambda: waits)
    waiting.update(total=8, note="reward 0.5")
    waiting.advance(3)
    waiting.tick()
    assert (task.notes, task.total, task.done) == (["reward 0.5"], 8, 3)
    waits = Waits(4, 2)
    waiting.tick()
    waiting.update(note="reward 0.6")
    waits = Waits(4, 0)
    waiting.tick()
    waiting.tick()
    assert task.notes[1:] == ["waiting on 429: 2 of 4"] * 2 + ["reward 0.6"]


def test_it_is_brought_up_to_date_while_nothing_ends() -> None:
    async def scenario() -> None:
        ticked = asyncio.Event()
        async with asyncio.timeout(30), ticking(ticked.set):
            await ticked.wait()

    asyncio.run(scenario())
