"""Tables for a terminal: fitted to its width, with colour where it is wanted."""

from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from shutil import get_terminal_size

from rich.box import ASCII, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prime_cli.terminal.streams import Stream
from prime_cli.terminal.text import age, folded, pieces, width

_GAP = 2
_LONGEST_WORD = 16
"""A longer word may be folded, so that one URL does not take the whole screen."""
_LEAST_NAME = 12
"""Long names are broken after their marks, into columns of at least this width."""
_READABLE = 24
"""Text wraps into columns of at least this width where the screen has `_ROOMY` columns."""
_ROOMY = 80


def draw(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None, stream: Stream
) -> str:
    """The table as text for `stream`.

    Cells wrap at words. Columns come in order of importance: those that do not fit any more are
    left out at the end, and named below the table. Timestamps are shown as ages.
    """
    screen = get_terminal_size().columns
    now = datetime.now(UTC)
    cells = [[age(cell, now) for cell in row] for row in rows]
    widths = column_widths(columns, cells, screen)
    table = Table(
        box=SIMPLE_HEAD if stream.is_unicode else ASCII,
        title=title,
        title_justify="left",
        show_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        pad_edge=False,
    )
    for column, size in zip(columns, widths, strict=False):
        table.add_column(column, overflow="fold", width=size)
    for row in cells:
        table.add_row(*(Text(folded(*each)) for each in zip(row, widths, strict=False)))
    console = Console(
        file=StringIO(),
        force_terminal=stream.colour,
        color_system="auto" if stream.colour else None,
        highlight=False,
        width=screen,
    )
    with console.capture() as captured:
        console.print(table)
        if left_out := ", ".join(columns[len(widths) :]):
            console.print(f"(not shown: {left_out}; widen the terminal, or add --output json)")
    return captured.get()


def column_widths(columns: Sequence[str], cells: Sequence[Sequence[str]], screen: int) -> list[int]:
    """The widths of the columns that have room; at least one.

    Each is as wide as its longest word at least, text as is readable when it wraps. What is left
    of the screen goes first to the columns that need least to show every cell on one line.
    """
    texts = [[column, *(row[index] for row in cells)] for index, column in enumerate(columns)]
    wanted = [max(map(width, column)) for column in texts]
    widths: list[int] = []
    for index, column in enumerate(texts):
        readable = min(wanted[index], _READABLE) if screen >= _ROOMY and _is_text(column) else 0
        least = wanted[0] if index == 0 else max(readable, _longest_word(column))
        if widths and sum(widths) + least + _GAP * len(widths) > screen:
            break
        widths.append(min(least, screen))
    spare = screen - sum(widths) - _GAP * (len(widths) - 1)
    for index in sorted(range(len(widths)), key=lambda index: wanted[index] - widths[index]):
        more = min(spare, wanted[index] - widths[index])
        widths[index] += more
        spare -= more
    return widths


def _longest_word(texts: Sequence[str]) -> int:
    """Ages, and texts that are no longer than a word may be, are kept on one line."""
    longest = max(map(_least, (word for text in texts for word in _words(text))))
    return max(width(texts[0]), min(longest, _LONGEST_WORD))


def _least(word: str) -> int:
    """The cells that a word needs: all of a short one, the longest piece of a long name."""
    if width(word) <= _LONGEST_WORD:
        return width(word)
    return max(_LEAST_NAME, *map(width, pieces(word)))


def _is_text(texts: Sequence[str]) -> bool:
    """Whether there are sentences among them, which need room to be read; names do not."""
    return any(width(text) > _LONGEST_WORD and " " in text for text in texts)


def _words(text: str) -> list[str]:
    is_one = text.endswith(" ago") or width(text) <= _LONGEST_WORD
    return [text] if is_one else text.split() or [""]
