"""Links of package index pages."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prime_cli.core.errors import Unreachable
from prime_cli.envs.lookup import IndexLink, parse_links

PAGE = "https://hub.example/ada/simple/tiny-env/"


@pytest.mark.parametrize(
    ("href", "url", "filename", "sha256"),
    [
        ("x-1.whl", f"{PAGE}x-1.whl", "x-1.whl", None),
        ("/f/x-1.whl#sha256=AB", "https://hub.example/f/x-1.whl", "x-1.whl", "ab"),
        ("../../f/x-1%2Bl.whl", "https://hub.example/ada/f/x-1%2Bl.whl", "x-1+l.whl", None),
        ("https://e.example/x-1.whl?s=1#md5=ab", "https://e.example/x-1.whl?s=1", "x-1.whl", None),
    ],
)
def test_a_link_is_absolute_and_has_name_and_digest(
    href: str, url: str, filename: str, sha256: str | None
) -> None:
    page = f'<html><a class="x" href="{href}">any text</a></html>'
    assert parse_links(PAGE, page) == [IndexLink(url, filename, sha256)]


def test_entities_in_addresses_are_read() -> None:
    (link,) = parse_links(PAGE, '<a href="/x-1.whl?a=1&amp;b=2">x</a>')
    assert link.url == "https://hub.example/x-1.whl?a=1&b=2"


def test_anchors_without_an_address_are_not_links() -> None:
    assert parse_links(PAGE, "<a name='top'></a><a href>x</a><p href='y'></p>") == []


def test_a_page_that_cannot_be_read_is_no_index() -> None:
    with pytest.raises(Unreachable, match="cannot be read"):
        parse_links(PAGE, '<a href="http://[x">x</a>')


# Some releases of Python's parser refuse this section, the others skip it.
@example("<![foo[ x")
@given(st.text(alphabet="<>![]/ahref=\"'x#&;-", max_size=60))
def test_a_page_is_read_or_refused_and_nothing_else(html: str) -> None:
    with contextlib.suppress(Unreachable):
        parse_links(PAGE, html)
