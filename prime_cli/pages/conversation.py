"""The turns of a rollout for a page, and the addresses of those that it leaves out."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from prime_cli.pages.messages import Messages
from prime_cli.pages.paging import FIRST, Cursor
from prime_cli.pages.turns import Turn, make_turn

ROOM = 80_000
"""Bytes of HTML for the turns of a page."""
_MOST_TURNS = 100


class Conversation(NamedTuple):
    """Some of `total` turns, the first of them after `start`; `path` is the rollout's address."""

    turns: Sequence[Turn] = ()
    start: int = 0
    total: int = 0
    path: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.turns)

    @property
    def earlier(self) -> str:
        """The address of the turns before these; empty for the first."""
        return f"{self.path}?before={self.start + 1}#turns" if self.start else ""

    @property
    def later(self) -> str:
        """The address of those after these; empty for the last."""
        return f"{self.path}?from={self.end + 1}#turns" if self.end < self.total else ""

    @property
    def last(self) -> str:
        """The address of the last of all."""
        return f"{self.path}?before={self.total + 1}#turns"


def lay_out(
    prompt: Any, completion: Any, path: str = "", cursor: Cursor = FIRST, room: int = ROOM
) -> Conversation:
    """The turns at `cursor` of a rollout whose page is at `path`: chat messages, or plain text."""
    messages = Messages(path, prompt, completion)
    heads = messages.heads
    # At least one turn, also before the first.
    start = min(max(cursor.number, cursor.is_end), max(len(heads) - (not cursor.is_end), 0))
    ordered: Iterable[int] = reversed(heads[:start]) if cursor.is_end else heads[start:]
    turns: list[Turn] = []
    left = room
    for place in ordered:
        turn, used = make_turn(messages, place, room)
        if turns and (used > left or len(turns) == _MOST_TURNS):
            break
        turns.append(turn)
        left -= used
    if cursor.is_end:
        turns.reverse()
        start -= len(turns)
    return Conversation(turns, start, len(heads), path)
