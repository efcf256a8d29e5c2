"""Source as lines of HTML."""

import re
from html import unescape

import pytest

from prime_cli.pages.environment import highlight

TEXTS = {
    "a.py": '"""<b>\ntwo lines"""\nx = f"{1 < 2}"  # &\n\n\ndef f():\n    pass\n',
    "a.json": '{"a": [1, "<"]}',
    "a.toml": '[project]\nname = "x"\n',
    "a.yaml": "a: |\n  <script>\n",
    "a.md": "# <i>",
    "b.py": "(" * 16_000 + "<",
}


@pytest.mark.parametrize("path", TEXTS)
def test_lines_have_the_text_and_nothing_of_it_is_html(path: str) -> None:
    found = re.findall(
        r'<span class="l" id="L(\d+)">(.*?)</span>(?=<span class="l"|$)',
        "".join(highlight(path, TEXTS[path])),
    )
    lines = [unescape(re.sub(r'</?span(?: class="\w+")?>', "", line)) for _, line in found]
    assert lines == TEXTS[path].removesuffix("\n").split("\n")
    assert [int(number) for number, _ in found] == list(range(1, len(lines) + 1))
    assert "<b>" not in "".join(line for _, line in found)


@pytest.mark.parametrize("text", ["\ufeff\ufeffa\n\n", "\ufeff\ufeff\ufeffa = 1\n", "\ufeff"])
def test_marks_of_the_byte_order_are_no_text(text: str) -> None:
    shown = [re.sub(r"<[^>]*>", "", line) for line in highlight("a.py", text)]
    assert shown == text.replace("\ufeff", "").removesuffix("\n").split("\n")


def test_a_keyword_has_its_class() -> None:
    assert '<span class="kn">import</span>' in highlight("a.py", "import os\n")[0]


def test_what_follows_thousands_of_tokens_is_plain() -> None:
    assert highlight("a.py", "(" * 10_000)[0].count("<span") < 4100


def test_ends_of_lines_of_windows_are_one_end() -> None:
    assert len(highlight("a.py", "a\r\nb\r\n")) == 2


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "a: 1\n" + "&a " * 80_000),
        ("a.yaml", "a: 1\n" + "`" * 60_000),
        ("a.py", "a = 1\n" + "  \n" * 80_000),
        ("a.py", "a = 1\n" * 60_000),
    ],
)
def test_the_part_that_lexers_take_quadratic_time_for_is_plain(path: str, text: str) -> None:
    lines = [line.replace('<span class="faint">', "") for line in highlight(path, text)]

    assert lines[0].count("<span") > 1
    assert lines[-1].count("<span") == 1


def test_a_line_too_long_for_a_page_says_how_much_more_it_has() -> None:
    (line,) = highlight("a.txt", "&" * 10_000)

    assert line.count("&amp;") == 4_000
    assert "(6,000 more characters)" in line
