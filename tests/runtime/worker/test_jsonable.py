import enum
import json
import math
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runtime.worker.channel import encode
from prime_cli.runtime.worker.jsonable import number, plain


class Colour(str, enum.Enum):  # noqa: UP042 - whose `str` is not its value
    RED = "red"


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"a": (1, 2)}


class Stubborn:
    def model_dump(self) -> None:
        raise ValueError("no")

    def __repr__(self) -> str:
        return "<stubborn>"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner)
    ),
)


@given(values)
def test_everything_becomes_json_that_strict_readers_take(value: object) -> None:
    assert msgspec.json.decode(encode({"value": value})).keys() == {"value"}


@given(st.recursive(st.none() | st.booleans() | st.text(), st.lists))
def test_what_is_plain_already_stays(value: object) -> None:
    assert plain(value) == value


def test_infinities_and_nan_have_no_word_in_json() -> None:
    assert plain([math.nan, math.inf, 1.5]) == [None, None, 1.5]


def test_objects_become_their_fields_or_their_repr() -> None:
    found = plain({"m": Model(), "s": Stubborn(), "d": date(2025, 1, 2), "c": Colour.RED, 3: {4}})
    assert found == {"m": {"a": [1, 2]}, "s": "<stubborn>", "d": "2025-01-02", "c": "red", "3": [4]}
    json.dumps(found)


def test_a_list_that_contains_itself_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    json.dumps(plain(ring))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1.0), (True, 1.0), (0.5, 0.5), (math.nan, None), ("1", None), (None, None), ([1], None)],
)
def test_a_number_is_a_finite_float_or_none(value: object, expected: float | None) -> None:
    assert number(value) == expected
