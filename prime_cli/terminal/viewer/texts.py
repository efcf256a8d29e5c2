"""Text of strangers, fit for cells of a screen: nothing in it can move, colour or reorder."""

from collections.abc import Iterator

from rich.cells import cell_len, get_character_cell_size

from prime_cli.terminal.words import clean

_REORDERING = dict.fromkeys(
    (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_BREAKS = {0x2028: "\n", 0x2029: "\n"}


def printable(text: str) -> str:
    """`text` without control characters, marks of writing direction and halves of characters."""
    told = clean(text.translate(_REORDERING | _BREAKS))
    if not told.isascii():
        told = told.encode("utf-8", "replace").decode("utf-8")
    return told.expandtabs(4) if "\t" in told else told


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(printable(text).split())


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a printable text, none wider than `width` cells; broken at blanks if it can."""
    for line in text.split("\n"):
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            yield line
        else:
            yield from _broken(line, max(width, 2))


def _broken(line: str, width: int) -> Iterator[str]:
    start = 0
    while start < len(line):
        end = _reach(line, start, width)
        blank = line.rfind(" ", start + width // 2, end + 1) if end < len(line) else -1
        if blank > start:
            yield line[start:blank]
            start = blank + 1
        else:
            yield line[start:end]
            start = end


def _reach(line: str, start: int, width: int) -> int:
    """The end of what fits into `width` cells from `start`; at least one character."""
    part = line[start : start + width]
    if part.isascii():
        return start + len(part)
    used = 0
    for place, character in enumerate(part, start):
        used += get_character_cell_size(character)
        if used > width:
            return max(place, start + 1)
    return start + len(part)
