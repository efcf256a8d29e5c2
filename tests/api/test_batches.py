import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.api.batches import Batches
from prime_cli.core.errors import UsageError

samples = st.lists(st.fixed_dictionaries({"text": st.text(max_size=60)}), max_size=20)


@given(samples, st.integers(40, 200))
def test_batches_hold_every_sample_in_order_and_are_no_larger_than_allowed(
    given_samples: list[dict[str, Any]], most: int
) -> None:
    batches = Batches(given_samples, most=most)
    found = []
    for body, count in batches:
        held = json.loads(body)["samples"]
        assert len(body) <= most
        assert len(held) == count > 0
        found += held
    left_out = set(batches.skipped)
    assert found == [each for n, each in enumerate(given_samples) if n not in left_out]
    assert batches.count == len(found)
    for place in left_out:
        text = json.dumps(given_samples[place], ensure_ascii=False, separators=(",", ":"))
        assert len(text.encode()) + len('{"samples":[]}') > most


def test_sample_of_exactly_the_bound_goes_alone() -> None:
    sample = b'{"a":1}'
    most = len(b'{"samples":[]}') + len(sample)
    assert [body for body, _ in Batches([sample, sample], most=most)] == [
        b'{"samples":[{"a":1}]}'
    ] * 2


def test_bytes_go_as_they_are() -> None:
    assert [body for body, _ in Batches([b'{"a" : 1.0}', {"b": "\u00e9"}])] == [
        '{"samples":[{"a" : 1.0},{"b":"\u00e9"}]}'.encode()
    ]


def test_no_samples_make_no_request() -> None:
    assert list(Batches([])) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, "\ud800", b"x"])
def test_what_json_cannot_hold_is_named_by_its_place(value: Any) -> None:
    with pytest.raises(UsageError, match="Sample 1 cannot be written as JSON"):
        list(Batches([{}, {"a": value}]))
