from prime_cli.hub.pages.html import number, page, table, text


def test_head_of_a_column_of_numbers_stands_over_them() -> None:
    html = table(("Name", "Size"), [(text("a<b"), number(1234))], "There is none.")
    assert '<tr><th>Name</th><th class="number">Size</th></tr>' in html
    assert '<tr><td>a&lt;b</td><td class="number">1,234</td></tr>' in html


def test_table_without_rows_is_a_sentence() -> None:
    assert table(("Name",), [], "There is none.") == '<p class="faint">There is none.</p>'


def test_every_page_leads_to_the_others() -> None:
    html = bytes(page("<title>", "").body).decode()
    assert "<h1>&lt;title&gt;</h1>" in html
    for path in ("/", "/dashboard/tokens/challenge", "/docs"):
        assert f'href="{path}"' in html
