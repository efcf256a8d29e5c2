"""Untrusted Markdown, such as a README, as HTML; in a process of its own with bounds.

    python -m prime_cli.pages.markdown /FILES/ <README.md >README.html

A page loads nothing from other origins and runs nothing, so images become links, and raw HTML is
text. Relative links lead to the files beside it, below the address /FILES/. Some hundred kilobytes
can keep any parser of Markdown busy for minutes; that is why the bounds are the operating system's.
"""

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

RENDERER = 5
"""The number of what is rendered from the same text; raise it with any change of the HTML."""

SECONDS = 2
LONGEST_HTML = 1024 * 1024
"""In bytes, of all parts."""
PART_BYTES = 80_000
"""Of what stands on one page."""
BREAK = "\f"
"""Between the parts of a long text, none of which has it: it would cut them within a tag."""
_MEMORY = 1024 * 1024 * 1024
_TOO_MUCH = 3
_SIGXCPU = 24
_BOUNDS = (_TOO_MUCH, -_SIGXCPU)
"""How the process ends at its bounds; the signal has no name on Windows."""

# --- Rendering ---

_ALLOWED = ("http://", "https://", "mailto:", "#")
_REL = "nofollow noopener noreferrer ugc"
_TAGS = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "a", "em", "strong", "code", "pre", "ul", "ol", "li",
    "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "ol": {"start"},
}
_ALIGNED = {"right", "center"}


def render_markdown(text: str, files: str = "") -> str:
    """`text` as HTML without scripts, forms, images or links of other schemes.

    `files` starts the addresses of the files that it names, and ends in a slash; empty for none.
    A long text is in parts with a BREAK between them, at most PART_BYTES each.

    CommonMark and tables by markdown-it-py, then sanitised by nh3, so that what one of them misses
    is stopped by the other. Without bounds: for other people's text use `render_bounded`.
    """
    parts: list[list[str]] = [[]]
    left = PART_BYTES
    for block in _blocks(text, files):
        size = len(block.encode(errors="replace"))
        if size > left and parts[-1]:
            parts.append([])
            left = PART_BYTES
        parts[-1].append(block)
        left -= size
    return BREAK.join("".join(blocks) for blocks in parts)


def _blocks(text: str, files: str) -> Iterator[str]:
    """The HTML of each paragraph, list and so on; of one too large, its beginning as text."""
    markdown = _renderer(files)
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    # As markdown-it counts them: other separators of Unicode end no line.
    lines = re.split(r"(?<=\n)", text.replace("\r\n", "\n").replace("\r", "\n"))
    start = 0
    for place, token in enumerate(tokens):
        # An opening raises the depth, and what closes it is as deep as the opening was.
        if token.level or token.nesting > 0:
            continue
        block = tokens[start : place + 1]
        html = _clean(markdown.renderer.render(block, markdown.options, environment))
        if len(html.encode(errors="replace")) > PART_BYTES:
            html = _beginning(lines, block[0], files)
        # Also where the text has it as an entity.
        yield html.replace(BREAK, " ")
        start = place + 1


_BEGINNING_BYTES = 20_000


def _beginning(lines: list[str], token: "Token", files: str) -> str:
    # Which imports much that other texts have no need for.
    from prime_cli.pages.texts import cut

    first, last = token.map or (0, len(lines))
    text = cut("".join(lines[first:last]), _BEGINNING_BYTES)
    where = f'<a href="{escape(files)}README.md">README.md</a>' if files else "the file"
    return (
        f'<p class="faint">This part is too large for a page; it begins so, and {where} has all of '
        f"it.</p>\n<pre>{escape(text, quote=False)}</pre>\n"
    )


def _clean(html: str) -> str:
    import nh3

    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes={"th": _ALIGNED, "td": _ALIGNED},
        url_schemes={"http", "https", "mailto"},
        # Links send no referrer and vouch for nothing.
        link_rel=_REL,
    )


@lru_cache(maxsize=16)
def _renderer(files: str) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    standard = markdown.normalizeLink

    def lead(url: str) -> str:
        return standard(url) if _is_allowed(url) else _lead_to_file(url, files)

    def is_allowed(url: str) -> bool:
        return _is_allowed(url) or (bool(files) and url.startswith(files))

    markdown.normalizeLink = lead  # type: ignore[method-assign]
    markdown.validateLink = is_allowed  # type: ignore[method-assign]
    markdown.add_render_rule("image", _show_as_link)
    for cell in ("th_open", "td_open"):
        markdown.add_render_rule(cell, _align_by_class)
    return markdown


def _is_allowed(url: str) -> bool:
    return url.strip().lower().startswith(_ALLOWED)


def _lead_to_file(url: str, files: str) -> str:
    """The address of the file that a relative link names; empty for what is no such link."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    path = posixpath.normpath(unquote(parts.path))
    outside = parts.scheme or parts.netloc or path.startswith(("/", "..")) or not parts.path
    return "" if outside or not files else files + quote(path)


def _show_as_link(_self: Any, tokens: "list[Token]", index: int, *_rest: Any) -> str:
    source = str(tokens[index].attrGet("src") or "")
    label = escape(tokens[index].content or source)
    if not source:
        return label
    return f'<a href="{escape(source, quote=True)}">{label}</a>'


def _align_by_class(self: Any, tokens: "list[Token]", index: int, *rest: Any) -> str:
    """A cell of a table; the policy of pages forbids the style that it comes with."""
    cell = tokens[index]
    side = str(cell.attrs.pop("style", "")).removeprefix("text-align:")
    if side in _ALIGNED:
        cell.attrSet("class", side)
    return str(self.renderToken(tokens, index, *rest))


# --- Bounds ---


class RenderingFailed(Exception):
    """The text was not rendered for a reason of this machine, such as much else to do."""


def render_bounded(text: str, files: str = "") -> str | None:
    """As `render_markdown`, or None for what takes too long, too much memory or too many bytes.

    Raises RenderingFailed where the text is not to blame.
    """
    # The process that renders needs none of it, and neither does a hub until its first README.
    from prime_cli.core.process import TimedOut, run

    readable = text.encode(errors="replace").decode()
    command = [sys.executable, "-I", "-X", "utf8", "-m", __name__, files]
    try:
        # Ten times: a machine with much else to do gives it little of its time.
        done = run(command, input=readable, timeout=10 * SECONDS)
    except TimedOut as error:
        raise RenderingFailed(str(error)) from error
    if done.ok:
        return done.out
    if done.code in _BOUNDS:
        return None
    raise RenderingFailed(done.last_lines(1) or f"exit code {done.code}")


def main() -> None:
    """Render standard input; ends with another code, or by a signal, when a bound is reached."""
    _bound_resources()
    try:
        html = render_markdown(sys.stdin.buffer.read().decode(), sys.argv[1]).encode()
    except MemoryError:
        raise SystemExit(_TOO_MUCH) from None
    if len(html) > LONGEST_HTML:
        raise SystemExit(_TOO_MUCH)
    sys.stdout.buffer.write(html)


def _bound_resources() -> None:
    if sys.platform == "win32":
        return
    import resource

    # At the first SIGXCPU; SIGKILL alone could be the system's, out of memory.
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Requests go first.
    os.nice(10)


if __name__ == "__main__":
    main()
