"""Source code as HTML: each line with its number, and coloured by Pygments where it is short."""

from functools import lru_cache
from html import escape

from prime_cli.core.installation import require
from prime_cli.pages.templates import Html

_LONGEST = 64 * 1024
"""Characters that are coloured: Pygments takes some 3 ms for a thousand."""
_LEXERS = {
    ".py": "python",
    ".pyi": "python",
    ".toml": "toml",
    ".lock": "toml",
    ".json": "json",
    ".jsonl": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "bash",
}


@lru_cache(maxsize=128)
def highlight(path: str, text: str) -> Html:
    """`text`, the content of a file at `path`, as lines that can be linked to: `#L12`."""
    lexer = next((name for end, name in _LEXERS.items() if path.endswith(end)), None)
    body = _colour(lexer, text) if lexer and len(text) <= _LONGEST else escape(text)
    lines = body.removesuffix("\n").split("\n")
    return Html(
        "".join(f'<span class="l" id="L{at}">{line}</span>' for at, line in enumerate(lines, 1))
    )


def _colour(lexer: str, text: str) -> str:
    require("hub", "Showing source", "pygments")
    from pygments import highlight as colour
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    # It closes and opens its elements at the ends of lines.
    found = get_lexer_by_name(lexer, stripnl=False, ensurenl=False)
    return str(colour(text, found, HtmlFormatter(nowrap=True)))
