"""Sentences broken at words where a terminal would break them anywhere."""

import re

from prime_cli.terminal.words import width

_WORD = re.compile(r"(?:`[^`]*`|\S)+")
"""A command in backticks is one word, so that it can be copied."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_INDENT = "  "


def wrapped(text: str, columns: int) -> str:
    """`text` in lines of at most `columns` cells, those that continue another one indented.

    A word that is longer than a line is left to the terminal, and so is a line that begins with
    blanks, which is there to be copied. Colours take no room.
    """
    return "\n".join(_broken(line, columns) for line in text.split("\n"))


def _broken(line: str, columns: int) -> str:
    if _cells(line) <= columns or line.startswith(" "):
        return line
    lines: list[str] = []
    for word in _WORD.findall(line):
        if lines and _cells(lines[-1]) + 1 + _cells(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{_INDENT}{word}" if lines else word)
    return "\n".join(lines)


def _cells(text: str) -> int:
    return width(_ESCAPES.sub("", text))
