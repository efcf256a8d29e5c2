"""Pieces of sentences: a count with its noun, and a list that is cut short."""

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `2 runs`; `plural` where it is not the noun and an `s`."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def some_of(names: Sequence[object], most: int = 3) -> str:
    """The first `most` of `names` with commas between, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
