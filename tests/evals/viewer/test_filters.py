import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.evals.viewer.filters import StepSearch, TextSearch, parse_reward, parse_step
from prime_cli.runs.rows import Row
from tests.runs.rows import row

REWARDS = [None, -1.0, 0.0, 0.2, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("0.5", [0.5]),
        ("=1", [1.0]),
        (" > 0.2 ", [0.5, 1.0]),
        (">=0.2", [0.2, 0.5, 1.0]),
        ("<0", [-1.0]),
        ("<=0", [-1.0, 0.0]),
        ("0.2..0.5", [0.2, 0.5]),
        ("0.5 .. 0.2", [0.2, 0.5]),
        ("-1..-.5", [-1.0]),
        ("1e-1..1", [0.2, 0.5, 1.0]),
        ("None", [None]),
    ],
)
def test_rewards_are_wanted_by_number_bound_range_or_none(
    text: str, passed: list[float | None]
) -> None:
    accepts = parse_reward(text)
    assert [reward for reward in REWARDS if accepts(reward)] == passed


@pytest.mark.parametrize("text", ["high", "0.5..", ">", "1..2..3", "> none"])
def test_an_invalid_range_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="not a range") as caught:
        parse_reward(text)
    assert "0.2..0.8" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["", "none", "first", "1..", "2 3"])
def test_an_invalid_step_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="not a range of steps") as caught:
        parse_step(text)
    assert "10..20" in str(caught.value.hint)


@given(
    st.one_of(st.integers(0, 2**53), st.floats(allow_nan=False, allow_infinity=False)),
    st.booleans(),
)
def test_no_line_of_a_step_is_ruled_out(step: float, is_spaced: bool) -> None:
    separators = (", ", ": ") if is_spaced else (",", ":")
    line = json.dumps({"state": {"step": step}}, separators=separators).encode()
    wanted = StepSearch(f"{step!r}")
    assert wanted.may_hold(line)
    assert wanted.holds(row(0, state={"step": step}))
    assert not wanted.holds(row(0, state={"step": True}))


def lines_of(value: Any) -> list[bytes]:
    """A row that says `value`, as three writers of JSON have it."""
    plain = {"completion": [{"role": "assistant", "content": value}]}
    return [
        json.dumps(plain).encode(),
        json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass"),
    ]


@given(st.text(min_size=1, max_size=4), st.text(max_size=6), st.text(max_size=6))
def test_no_line_that_holds_the_text_is_ruled_out(text: str, before: str, after: str) -> None:
    for typed in (text, text.upper(), text.lower()):
        said = before + text + after
        if typed.casefold() in said.casefold() and typed.isascii() == text.isascii():
            assert TextSearch(typed).holds(row(0, completion=said))
            assert all(TextSearch(text).may_hold(line) for line in lines_of(said))


@pytest.mark.parametrize(
    "spoken",
    [
        row(0, prompt=[{"role": "user", "content": "Say Straße"}]),
        row(0, completion="Straße"),
        row(0, completion=[{"tool_calls": [{"function": {"arguments": '{"a": "straße"}'}}]}]),
        row(0, answer="straße"),
        row(0, info={"nested": [{"deep": "STRASSE"}]}),
    ],
)
def test_text_is_found_in_every_message(spoken: Row) -> None:
    assert TextSearch("strasse").holds(spoken)


def test_errors_are_searched_and_names_of_keys_are_not() -> None:
    assert TextSearch("timed out").holds(row(0, reward=None))
    assert not TextSearch("example_id").holds(row(0, prompt="say a"))
