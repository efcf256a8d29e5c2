import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.headers import HTML, HTML_V1, JSON_V1, choose_form, read_accept

PIP = f"{JSON_V1}, {HTML_V1}; q=0.1, text/html; q=0.01"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", HTML),
        ("*/*", HTML),
        (PIP, JSON_V1),
        (BROWSER, HTML),
        (f"text/html, {JSON_V1}", JSON_V1),
        (f"{JSON_V1};q=0.2, text/html;q=0.3", HTML),
        (f"{HTML_V1}, {JSON_V1};q=0.9", HTML_V1),
        ("application/vnd.pypi.simple.latest+json", JSON_V1),
        ("application/vnd.pypi.simple.v2+json, application/*;q=0.1", JSON_V1),
        (f"{JSON_V1};q=0, */*", HTML),
        (f"*/*, {HTML};q=0", None),
        ("TEXT/HTML ; Q=0.5", HTML),
        ("image/png", None),
        (f"{JSON_V1};q=nonsense", None),
    ],
)
def test_form_is_the_one_that_is_liked_best(accept: str, form: str | None) -> None:
    assert choose_form(accept) == form


def test_parameter_of_the_url_goes_before_the_header() -> None:
    assert choose_form("text/html", JSON_V1) == JSON_V1
    assert choose_form("text/html", JSON_V1.replace("+", " ")) == JSON_V1
    assert choose_form("text/html", "text/plain") is None


@given(st.text(max_size=200) | st.from_regex(r"([a-z*/;q=0-9., ]{1,30},?){1,5}", fullmatch=True))
def test_any_header_has_an_answer(header: str) -> None:
    assert choose_form(header) in (None, HTML, HTML_V1, JSON_V1)
    assert all(0 <= quality <= 1 for _, quality in read_accept(header))
