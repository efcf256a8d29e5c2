"""Elements of pages, and READMEs as HTML."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.pages.html import HtmlPage, number, render_markdown, table, text

# --- Elements ---


def test_head_of_a_column_of_numbers_stands_over_them() -> None:
    html = table(("Name", "Size"), [(text("a<b"), number(1234))], "There is none.")
    assert '<tr><th>Name</th><th class="number">Size</th></tr>' in html
    assert '<tr><td>a&lt;b</td><td class="number">1,234</td></tr>' in html


def test_table_without_rows_is_a_sentence() -> None:
    assert table(("Name",), [], "There is none.") == '<p class="faint">There is none.</p>'


def test_frame_escapes_the_title_and_has_the_links() -> None:
    html = HtmlPage("<title>", "<p>body</p>").render([("/", "Start"), ("/docs", "A & B")])
    assert "<h1>&lt;title&gt;</h1>" in html
    assert '<nav><a href="/">Start</a><a href="/docs">A &amp; B</a></nav>' in html
    assert "<p>body</p>" in html


def test_frame_without_links_has_no_navigation() -> None:
    assert "<nav>" not in HtmlPage("title", "").render()


# --- Markdown ---

ALLOWED = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "a", "em", "strong", "code", "pre", "ul", "ol", "li",
    "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(text: str) -> None:
    for tag, attributes in Tags(render_markdown(text)).found:
        assert tag in ALLOWED
        assert not any(name.startswith("on") for name in attributes)
        href = attributes.get("href")
        assert href is None or href.lower().startswith(("http://", "https://", "mailto:", "#"))


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "![a](javascript:alert(1))",
        "![pixel](https://example.org/track.gif)",
        "[a]: javascript:alert(1)\n\n[a]",
        "<javascript:alert(1)>",
        '[a](https://example.org "\\"onmouseover=alert(1) x=\\"")',
        "[a](//example.org)",
        "`<b>`\n\n    <b>\n\n```<b>\n<i>\n```",
    ],
)
def test_hostile_readme_stays_text(text: str) -> None:
    assert_harmless(text)


@given(st.text(alphabet="<>[]()!\"'`:javascriptonerdt=/\\ \n&#x;-*|", max_size=80))
def test_any_readme_is_harmless(text: str) -> None:
    assert_harmless(text)


def test_readme_is_rendered() -> None:
    html = render_markdown(
        "# Wordle\n\nSee [here](https://example.org).\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    assert "<h1>Wordle</h1>" in html
    assert 'rel="nofollow noopener noreferrer ugc"' in html
    assert "<td>1</td>" in html


def test_picture_is_a_link() -> None:
    html = render_markdown("![score](https://example.org/score.png)")
    assert "<img" not in html
    assert ">score</a>" in html
