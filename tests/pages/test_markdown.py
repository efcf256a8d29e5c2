"""READMEs as HTML: what strangers wrote shows and does nothing else."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.pages.markdown import BREAK, PART_BYTES, render_bounded, render_markdown
from tests.helpers.markup import allowed_element, markups

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


@pytest.mark.parametrize("written", ["\f", "&#12;", "&#xC;", "&#x0000c;"])
@pytest.mark.parametrize(
    "text", ["[a{}b](https://example.org)", '[a](https://x.org "a{}b")', "`a{}`"]
)
def test_no_text_cuts_a_page_within_an_element(text: str, written: str) -> None:
    assert BREAK not in render_markdown(text.format(written))


def test_the_beginning_of_what_is_too_large_is_that_of_the_same_lines() -> None:
    text = "one\u2028two\u2028three\n\n" + "word " * 40_000
    assert "begins so" in (html := render_markdown(text))
    assert "<pre>word word" in html


@given(st.text(alphabet="<>[]()!\"'`:javascriptonerdt=/\\ \n&#x;-*|", max_size=80))
def test_any_readme_is_harmless(text: str) -> None:
    assert_harmless(text)


@given(markups)
def test_no_markup_leaves_more_than_a_readme_may_have(text: str) -> None:
    for files in ("", FILES):
        for tag, attributes in Tags(render_markdown(text, files)).found:
            assert allowed_element(tag, attributes, files), (tag, attributes)


def test_readme_is_rendered() -> None:
    html = render_markdown(
        "# Wordle\n\nSee [here](https://example.org).\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    assert "<h1>Wordle</h1>" in html
    assert 'rel="nofollow noopener noreferrer ugc"' in html
    assert "<td>1</td>" in html


FILES = "/dashboard/environments/ada/word/@0.1.0/files/"


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("docs/rules.md", "docs/rules.md"),
        ("./docs/../LICENSE", "LICENSE"),
        ("a%20b.md#part", "a%20b.md"),
        ("<a b&c.md>", "a%20b%26c.md"),
        ("%3Cscript%3E", "%3Cscript%3E"),
    ],
)
def test_relative_link_leads_to_the_file(link: str, path: str) -> None:
    for text in (f"[x]({link})", f"![x]({link})"):
        _, (_, attributes) = Tags(render_markdown(text, FILES)).found
        assert attributes["href"] == FILES + path
    assert "href" not in render_markdown(f"[x]({link})")


@pytest.mark.parametrize(
    "link",
    ["//example.org", "/etc", "../../secret", "a/../../b", "javascript:x", "%2e%2e/%2e%2e/x"],
)
def test_link_out_of_the_files_is_text(link: str) -> None:
    assert "href" not in render_markdown(f"[x]({link})", FILES)


@given(st.text(alphabet="<>[]()!\"'`:javascript./%2e\\ \n&#x;", max_size=60))
def test_any_link_stays_in_the_files(text: str) -> None:
    for _, attributes in Tags(render_markdown(f"[x]({text})", FILES)).found:
        href = attributes.get("href") or "#"
        assert href.lower().startswith((FILES, "http://", "https://", "mailto:", "#"))
        assert ".." not in href.removeprefix(FILES).split("/") or not href.startswith(FILES)


def test_picture_is_a_link() -> None:
    html = render_markdown("![score](https://example.org/score.png)")
    assert "<img" not in html
    assert ">score</a>" in html


def test_table_keeps_its_alignment_and_code_its_language() -> None:
    html = render_markdown("| a |\n|--:|\n| 1 |\n\n```python\nx = 1\n```\n")
    assert '<td class="right">' in html
    assert "style=" not in html
    assert '<code class="language-python">' in html


def test_bounded_rendering_gives_the_same() -> None:
    text = "# Über\n\n[here](https://example.org) and `code`\n"
    assert render_bounded(text) == render_markdown(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("![" * 50_000, id="pictures"),
        pytest.param("[" * 100_000, id="brackets"),
        pytest.param("> " * 50_000, id="quotes"),
        pytest.param("a\n\n" * 400_000, id="paragraphs"),
    ],
)
def test_rendering_ends_at_its_bounds(text: str) -> None:
    rendered = render_bounded(text)
    assert rendered is None or len(rendered) < 1024 * 1024


def test_a_long_text_is_in_parts_that_end_between_paragraphs() -> None:
    text = "\n\n".join(f"Paragraph {n}: {'word ' * 200}" for n in range(200))

    parts = render_markdown(text + "\f").split(BREAK)

    assert [part.count("<p>") == part.count("</p>") for part in parts] == [True] * 3
    assert max(map(len, parts)) <= PART_BYTES
    assert "".join(parts).count("Paragraph") == 200


def test_of_a_paragraph_too_large_for_a_page_the_beginning_is_shown_as_text() -> None:
    html = render_markdown(f"# Title\n\n- {'&' * 30_000}\n\nThe end\n", "/files/")

    assert html.count("&amp;") < 5_000
    assert '<a href="/files/README.md">README.md</a> has all of it' in html
    assert "<h1>Title</h1>" in html
    assert "<p>The end</p>" in html
