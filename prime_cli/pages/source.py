"""Source code as HTML: numbered lines, coloured by Pygments."""

import re
from collections.abc import Iterator
from html import escape
from itertools import islice

from prime_cli.core.installation import require
from prime_cli.pages.templates import Html
from prime_cli.pages.texts import cut

_MOST_TOKENS = 4000
"""What follows is not coloured: each takes about 8 us, whatever a publisher writes."""
_MOST_CHARACTERS = 16 * 1024
_LONGEST_LINE = 20_000
"""In bytes of HTML; of a longer one the beginning is shown."""
# Lexers take quadratic time for both.
_TOO_LONG = re.compile(r"[^\n]{501}|\s{201}")
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


def highlight(path: str, text: str) -> list[Html]:
    """`text`, the content of a file at `path`, as lines that can be linked to: `#L12`."""
    # All of them: Pygments drops one that is left.
    plain = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    lexer = next((name for end, name in _LEXERS.items() if path.endswith(end)), None)
    body = "".join(_coloured(lexer, plain)) if lexer else escape(plain)
    lines = zip(body.split("\n"), plain.split("\n"), strict=True)
    return [
        Html(f'<span class="l" id="L{at}">{_shown(line, said)}</span>')
        for at, (line, said) in enumerate(lines, 1)
    ]


def _shown(line: str, said: str) -> str:
    """A line of HTML, or how its text begins, and how much more there is."""
    if len(line) <= _LONGEST_LINE // 4 or len(line.encode(errors="replace")) <= _LONGEST_LINE:
        return line
    begin = cut(said, _LONGEST_LINE)
    return (
        f'{escape(begin)}<span class="faint">… ({len(said) - len(begin):,} more characters)</span>'
    )


def _coloured(lexer: str, text: str) -> Iterator[str]:
    """The beginning of `text` with the classes of its tokens, and the rest as it is."""
    require("hub", "Showing source", "pygments")
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES

    done = 0
    odd = _TOO_LONG.search(text, 0, _MOST_CHARACTERS)
    begin = text[: odd.start() if odd else _MOST_CHARACTERS]
    tokens = get_lexer_by_name(lexer, stripnl=False, ensurenl=False).get_tokens(begin)
    for kind, value in islice(tokens, _MOST_TOKENS):
        done += len(value)
        name = STANDARD_TYPES.get(kind) or STANDARD_TYPES.get(kind.parent, "")
        # Elements end with their lines.
        parts = (escape(part) for part in value.split("\n"))
        yield "\n".join(
            f'<span class="{name}">{part}</span>' if name and part else part for part in parts
        )
    yield escape(text[done:])
