import re
from itertools import chain
from pathlib import Path

from pygments.token import STANDARD_TYPES

from prime_cli import pages
from prime_cli.pages import charts, runs, tokens

PAGES = Path(pages.__file__).parent
_VALUE, _STATEMENT = re.compile(r"\{\{.*?\}\}|\{(?!%)[^{}]*\}"), re.compile(r"\{%.*?%\}")
_CLASS = re.compile(r'class="([^"]*)"')
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SELECTOR = re.compile(r"([^{}]+)\{")
COMPUTED = {
    *(f"c{number}" for number in range(charts.COLOURS)),
    *(f"p{number}" for number in range(tokens.LEVELS)),
    *(f"r{number}" for number in range(runs.LEVELS)),
    *("error", "empty"),  # cells of a grid
    *("system", "user", "assistant", "tool", "other"),  # turns
    *("good", "warn", "bad"),  # badges
    *("center", "right"),  # cells of a README's tables
    "cursor",  # where the pointer is in a chart
    *STANDARD_TYPES.values(),
}
"""Classes that a program makes, and so no search finds as they are."""


def styled() -> set[str]:
    """The classes that the style sheets have a rule for."""
    sheets = "".join(
        _COMMENT.sub("", each.read_text("utf-8")) for each in PAGES.glob("static/*.css")
    )
    return {
        name for rule in _SELECTOR.findall(sheets) for name in re.findall(r"\.([a-z][\w-]*)", rule)
    }


def written() -> set[str]:
    """The classes that templates and drawings name."""
    sources = (*PAGES.glob("templates/**/*.html"), *PAGES.glob("*.py"))
    texts = (_VALUE.sub("*", _STATEMENT.sub(" ", each.read_text("utf-8"))) for each in sources)
    found = chain.from_iterable(map(_CLASS.findall, texts))
    return {name for each in found for name in each.split() if "*" not in name}


def test_every_class_of_a_page_has_a_rule_and_every_rule_a_class() -> None:
    assert written() - styled() == set()
    assert styled() - written() - COMPUTED == set()
