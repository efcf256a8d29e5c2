from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from prime_cli.core.errors import UsageError
from prime_cli.hub.routes.parameters import Flag, Number, Text, Texts

COUNT = Number("count", "How many", default=5, least=1, most=10)


def request(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


@pytest.mark.parametrize(("query", "number"), [("", 5), ("count=1", 1), ("count=010", 10)])
def test_number_is_read_or_defaulted(query: str, number: int) -> None:
    assert COUNT.read(request(query)) == number


@pytest.mark.parametrize("text", ["0", "11", "-1", "1.0", "", "ten", "9" * 30, "\uff11"])
def test_number_outside_of_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="whole number from 1 to 10") as caught:
        COUNT.read(request(f"count={text}"))
    assert caught.value.param == "count"


@given(st.text(max_size=30))
def test_number_is_between_its_bounds_whatever_is_sent(text: str) -> None:
    asked = Request({"type": "http", "query_string": b"", "headers": []})
    asked._query_params = type(asked.query_params)([("count", text)])
    with suppress(UsageError):
        assert 1 <= COUNT.read(asked) <= 10


def test_text_outside_of_its_choices_is_refused() -> None:
    order = Text("order", "Which way", choices=("up", "down"))
    assert order.read(request("order=up")) == "up"
    assert order.read(request("order=")) is None
    with pytest.raises(UsageError, match="`left` is not a value of `order`"):
        order.read(request("order=left"))


def test_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 3 characters"):
        Text("word", "A word", longest=3).read(request("word=four"))


def test_texts_keep_their_order_and_have_a_limit() -> None:
    tags = Texts(Text("tags", "Tags"), most=2)
    assert tags.read(request("tags=b&tags=a")) == ("b", "a")
    with pytest.raises(UsageError, match="more than 2 times"):
        tags.read(request("tags=a&tags=b&tags=c"))


@pytest.mark.parametrize(
    ("text", "said"), [("True", True), ("1", True), ("no", False), ("", False)]
)
def test_flag_is_what_clients_write(text: str, said: bool) -> None:
    assert Flag("mine", "Mine").read(request(f"mine={text}")) is said
