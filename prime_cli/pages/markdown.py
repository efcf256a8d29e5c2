"""Untrusted Markdown, such as a README, as safe HTML.

CommonMark and tables by markdown-it-py: raw HTML is escaped, links lead only to http, https or
mail, and images become links, since a page loads nothing from other origins.
"""

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_ALLOWED = ("http://", "https://", "mailto:", "#")


@cache
def _renderer() -> "MarkdownIt":
    # Commands with the embedded hub import this module but render no page.
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.validateLink = _is_allowed  # type: ignore[method-assign]
    markdown.core.ruler.push("harmless", _make_harmless)
    markdown.add_render_rule("image", _show_as_link)
    return markdown


def render_markdown(text: str) -> str:
    """HTML without scripts, styles, forms, images or links of other schemes."""
    rendered: str = _renderer().render(text)
    return rendered


def _is_allowed(url: str) -> bool:
    return url.strip().lower().startswith(_ALLOWED)


def _make_harmless(state: "StateCore") -> None:
    """Links send no referrer and vouch for nothing."""
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "nofollow noopener noreferrer ugc")


def _show_as_link(_self: Any, tokens: "list[Token]", index: int, *_rest: Any) -> str:
    source = str(tokens[index].attrGet("src") or "")
    label = escape(tokens[index].content or source)
    if not _is_allowed(source):
        return label
    return f'<a href="{escape(source, quote=True)}" rel="nofollow noopener noreferrer">{label}</a>'
