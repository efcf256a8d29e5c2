"""Elements of pages, and their frame."""

from prime_cli.pages.html import HtmlPage, number, table, text


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
