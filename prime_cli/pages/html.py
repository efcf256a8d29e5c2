"""HTML of pages: the elements, and the frame they share."""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote

# --- Elements ---


class TableCell(NamedTuple):
    """The HTML of a table cell; numbers are aligned to the right."""

    html: str
    number: bool = False


def text(value: object) -> TableCell:
    """Plain text; nothing for None."""
    return TableCell("" if value is None else escape(str(value)))


def number(value: float | None, digits: int = 3) -> TableCell:
    """A number, rounded unless it is an integer; a dash for None."""
    if value is None:
        return TableCell("&mdash;", number=True)
    return TableCell(f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}", number=True)


def link(path: str, label: str) -> str:
    """A link within the site; `path` is already quoted."""
    return f'<a href="{escape(path, quote=True)}">{escape(label)}</a>'


def environment_link(slug: str) -> str:
    """A link to the page of an environment."""
    return link(f"/dashboard/environments/{quote(slug)}", slug)


def files_path(slug: str, version: str) -> str:
    """Where the pages of a version's files are; quoted, and ends in a slash."""
    return f"/dashboard/environments/{quote(slug)}/@{quote(version)}/files/"


def day(moment: str | None) -> TableCell:
    """The date of an ISO 8601 time."""
    return text((moment or "")[:10])


def table(heads: Sequence[str], rows: Iterable[Sequence[TableCell]], empty: str) -> str:
    """A table, or the sentence `empty` without rows."""
    lines = list(rows)
    if not lines:
        return f'<p class="faint">{escape(empty)}</p>'
    columns = zip(heads, lines[0], strict=True)
    head = _row("th", [TableCell(escape(name), cell.number) for name, cell in columns])
    body = "".join(_row("td", line) for line in lines)
    return (
        f'<div class="table"><table><thead>{head}</thead>\n<tbody>\n{body}</tbody></table></div>\n'
    )


def section(title: str, html: str) -> str:
    """A headed part of a page."""
    return f"<h2>{escape(title)}</h2>\n{html}\n"


def _row(tag: str, cells: Iterable[TableCell]) -> str:
    return f"<tr>{''.join(_cell(tag, cell) for cell in cells)}</tr>\n"


def _cell(tag: str, cell: TableCell) -> str:
    kind = ' class="number"' if cell.number else ""
    return f"<{tag}{kind}>{cell.html}</{tag}>"


# --- The frame ---

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 0 auto; padding: 1rem;
  color: #1a1a1a; background: #fff }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-bottom: 2rem }
a { color: #1a5fb4 }
h1 { font-size: 1.6rem; overflow-wrap: anywhere }
h2, .readme h1 { font-size: 1.2rem; margin-top: 2rem }
.code { font: 600 1.8rem/1.4 ui-monospace, monospace; letter-spacing: .15em }
label { display: block; margin: 1rem 0 .3rem }
input { font: inherit; width: 100%; padding: .5rem; box-sizing: border-box }
button { font: inherit; padding: .5rem 1.2rem; margin: 1rem .5rem 0 0 }
.wide { max-width: 64rem }
/* A wide table scrolls by itself. */
.table { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
td, th { border-bottom: 1px solid #8884; padding: .35rem .6rem; text-align: left;
  vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
pre, code { font: .9em/1.5 ui-monospace, monospace }
pre { background: #8881; padding: .8rem; overflow-x: auto; white-space: pre-wrap }
td pre { margin: 0; min-width: 12rem; overflow-wrap: anywhere }
.readme { border: 1px solid #8884; padding: 0 1rem; overflow-x: auto }
.faint { color: #6b6b6b }
svg { max-width: 100%; height: auto }
rect { fill: #4a7dc4 }
.problem { border-left: 4px solid #b00020; padding: .2rem .8rem }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #111 } a { color: #8ab4f8 } .faint { color: #aaa }
}
"""

_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Of every page: its own style sheet, forms to its own origin, and nothing else."""


class HtmlPage(NamedTuple):
    """A page before it is framed: `title` is plain text, `body` is HTML."""

    title: str
    body: str
    wide: bool = False

    def render(self, navigation: Sequence[tuple[str, str]] = ()) -> str:
        """The document, with links (path and label) at the top."""
        width = ' class="wide"' if self.wide else ""
        links = "".join(link(path, label) for path, label in navigation)
        top = f"<nav>{links}</nav>" if links else ""
        title = escape(self.title)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{_STYLE}</style></head>\n"
            f"<body{width}>{top}<main><h1>{title}</h1>\n{self.body}</main></body></html>\n"
        )


def error_body(message: str, hint: str | None = None) -> str:
    """The sentence of a failure, announced to screen readers."""
    more = f" ({escape(hint)})" if hint else ""
    return f'<p class="problem" role="alert">{escape(message)}{more}.</p>\n'
