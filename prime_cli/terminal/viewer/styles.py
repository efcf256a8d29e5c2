"""Colours of the screens, and the words for numbers."""

from rich.segment import Segment
from rich.style import Style

PLAIN = Style()
DIM = Style(dim=True)
BOLD = Style(bold=True)
GOOD = Style(color="green")
BAD = Style(color="red")
MIDDLE = Style(color="yellow")
ERROR = Style(color="magenta")
CURSOR = Style(reverse=True)
LABELS = {
    "fact": DIM,
    "turn": Style(bold=True, color="cyan"),
    "call": Style(bold=True, color="yellow"),
    "error": Style(bold=True, color="magenta"),
}

Line = list[Segment]
"""Pieces of one line of a screen."""


def of_reward(reward: float | None) -> Style:
    """Green from 1 on, red from 0 down, yellow between; magenta for an error."""
    if reward is None:
        return ERROR
    if reward >= 1:
        return GOOD
    return BAD if reward <= 0 else MIDDLE


def number(value: float | None, missing: str = "-") -> str:
    """A number in at most seven characters, mostly."""
    if value is None:
        return missing
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:.3g}"  # noqa: PLR2004
