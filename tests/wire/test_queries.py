from contextlib import suppress
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.core.options import Option
from prime_cli.wire.queries import (
    Param,
    features_of,
    parameters_of,
    read_query,
    require_features,
    write_query,
)


class Way(StrEnum):
    UP = "up"
    DOWN = "down"


class ThingQuery(msgspec.Struct, frozen=True):
    word: Annotated[str | None, Param("A word", longest=3)] = None
    tags: Annotated[tuple[str, ...], Param("Tags", repeats=2)] = ()
    places: Annotated[tuple[str, ...], Param("Places", skips_empty=True)] = ()
    mine: Annotated[bool, Param("Only mine", name="mineOnly")] = False
    count: Annotated[int, Param("How many", least=1, most=10, hint="ask again")] = 5
    gpus: Annotated[int | None, Param("How many GPUs; 0 means any")] = None
    above: Annotated[float | None, Option("Above this."), Param()] = None
    way: Annotated[Way, Param("Which way")] = Way.DOWN
    case: Annotated[Way | None, Param("In any case", any_case=True)] = None
    ours: Annotated[int | None, Param("Only with ours", feature="ours_filter")] = None
    local: Annotated[str | None, Option("Never sent.")] = None


def read(text: str) -> ThingQuery:
    given = parse_qs(text, keep_blank_values=True)
    return read_query(ThingQuery, lambda name: given.get(name, []))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", ThingQuery()),
        ("word=&way=&above=", ThingQuery()),
        ("word=a&word=b", ThingQuery(word="b")),
        ("count=010", ThingQuery(count=10)),
        ("gpus=0", ThingQuery()),
        ("gpus=8", ThingQuery(gpus=8)),
        ("above=-1e3", ThingQuery(above=-1000.0)),
        ("tags=b&tags=", ThingQuery(tags=("b", ""))),
        ("places=b&places=&places=a", ThingQuery(places=("b", "a"))),
        ("way=up&case=Up", ThingQuery(way=Way.UP, case=Way.UP)),
        ("local=x", ThingQuery()),
        *((f"mineOnly={yes}", ThingQuery(mine=True)) for yes in ("True", "1", "yes")),
        *((f"mineOnly={no}", ThingQuery()) for no in ("no", "", "0")),
    ],
)
def test_query_is_read_or_defaulted(text: str, query: ThingQuery) -> None:
    assert read(text) == query


@pytest.mark.parametrize(
    ("text", "param", "message"),
    [
        ("word=four", "word", "more than 3 characters"),
        ("tags=a&tags=b&tags=c", "tags", "given more than 2 times"),
        ("way=left", "way", "`left` is not a value of `way`"),
        ("case=left", "case", "`left` is not a value of `case`"),
        ("above=nan", "above", "must be a finite number"),
        ("above=1e999", "above", "must be a finite number"),
        *(
            (f"count={text}", "count", "whole number from 1 to 10")
            for text in ("0", "11", "-1", "1.0", "", "ten", "9" * 30, "%EF%BC%91")
        ),
    ],
)
def test_value_outside_of_its_limits_is_refused(text: str, param: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read(text)
    assert caught.value.param == param


@given(st.text(max_size=30))
def test_number_is_between_its_bounds_whatever_is_sent(text: str) -> None:
    with suppress(UsageError):
        query = read_query(ThingQuery, lambda name: [text] if name == "count" else [])
        assert 1 <= query.count <= 10


@pytest.mark.parametrize(
    "query",
    [
        ThingQuery(),
        ThingQuery(word="a", tags=("b", "a"), mine=True, count=1, gpus=2, above=0.1),
        ThingQuery(way=Way.UP, case=Way.UP, places=("x",)),
    ],
)
def test_query_that_is_written_is_read_again(query: ThingQuery) -> None:
    sent: dict[str, list[str]] = {
        name: list(value) if isinstance(value, tuple) else [str(value)]
        for name, value in write_query(query).items()
        if value is not None
    }
    assert read_query(ThingQuery, lambda name: sent.get(name, [])) == query


def test_omitted_fields_are_not_sent() -> None:
    sent = {name: value for name, value in write_query(ThingQuery()).items() if value is not None}
    assert sent == {"count": 5, "way": "down"}


def test_a_filter_that_the_hub_would_ignore_is_refused() -> None:
    def never() -> list[str]:
        raise AssertionError("nothing to ask for")

    require_features(ThingQuery(word="a"), "hub.example", never)
    require_features(ThingQuery(ours=1), "hub.example", lambda: ["ours_filter"])
    with pytest.raises(UsageError, match=r"hub\.example cannot filter by `ours`"):
        require_features(ThingQuery(ours=1), "hub.example", lambda: ["cursor"])
    assert features_of(ThingQuery) == ("ours_filter",)


def test_parameters_are_described_for_openapi() -> None:
    described: dict[str, Any] = {
        each.name: (each.help, each.schema()) for each in parameters_of(ThingQuery)
    }
    number = {"type": "integer", "default": 5, "minimum": 1, "maximum": 10}
    text = {"type": "string", "maxLength": 1000}
    assert described == {
        "word": ("A word", {"type": "string", "maxLength": 3}),
        "tags": ("Tags", {"type": "array", "items": text, "maxItems": 2}),
        "places": ("Places", {"type": "array", "items": text, "maxItems": 50}),
        "mineOnly": ("Only mine", {"type": "boolean", "default": False}),
        "count": ("How many", number),
        "gpus": (
            "How many GPUs; 0 means any",
            {"type": "integer", "default": 0, "minimum": 0, "maximum": 2**31 - 1},
        ),
        "above": ("Above this.", {"type": "number"}),
        "way": ("Which way", {"type": "string", "enum": ["up", "down"]}),
        "case": ("In any case", text),
        "ours": (
            "Only with ours",
            {"type": "integer", "default": 0, "minimum": 0, "maximum": 2**31 - 1},
        ),
    }
