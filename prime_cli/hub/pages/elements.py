"""Pieces of pages. Every text that comes from elsewhere goes through `escape` here."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote


class Cell(NamedTuple):
    """HTML for a cell of a table, and whether it is a number."""

    html: str
    number: bool = False


def text(value: object) -> Cell:
    """Plain text; nothing for None."""
    return Cell("" if value is None else escape(str(value)))


def number(value: float | None, digits: int = 3) -> Cell:
    """A number, rounded if it is no whole one; a dash for None."""
    if value is None:
        return Cell("&mdash;", number=True)
    return Cell(f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}", number=True)


def link(path: str, label: str) -> str:
    """A link within the hub; `path` is quoted already where it must be."""
    return f'<a href="{escape(path, quote=True)}">{escape(label)}</a>'


def environment_link(slug: str) -> str:
    """A link to the page of an environment."""
    return link(f"/dashboard/environments/{quote(slug)}", slug)


def day(moment: str | None) -> Cell:
    """The day of an ISO 8601 time."""
    return text((moment or "")[:10])


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], empty: str) -> str:
    """Rows under heads, or a sentence when there are none."""
    lines = list(rows)
    if not lines:
        return f'<p class="faint">{escape(empty)}</p>'
    columns = zip(heads, lines[0], strict=True)
    head = _row("th", [Cell(escape(name), cell.number) for name, cell in columns])
    body = "".join(_row("td", line) for line in lines)
    return (
        f'<div class="table"><table><thead>{head}</thead>\n<tbody>\n{body}</tbody></table></div>\n'
    )


def section(title: str, html: str) -> str:
    """A part of a page."""
    return f"<h2>{escape(title)}</h2>\n{html}\n"


def _row(tag: str, cells: Iterable[Cell]) -> str:
    return f"<tr>{''.join(_cell(tag, cell) for cell in cells)}</tr>\n"


def _cell(tag: str, cell: Cell) -> str:
    kind = ' class="number"' if cell.number else ""
    return f"<{tag}{kind}>{cell.html}</{tag}>"
