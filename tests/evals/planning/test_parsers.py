"""Spans of time and variables, as they are written, kept and passed on to a worker."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.execution.session_setup import make_spec
from prime_cli.evals.planning.parsers import (
    MOST_EXAMPLES,
    given_variables,
    parse_examples,
    parse_requirements,
    parse_span,
    with_always_allowed,
)
from prime_cli.runs.plan import Deadlines, example_numbers, span_text
from prime_cli.runtime.worker.examples import choose, read_most
from tests.helpers.live_run import PLAN, interpreter_in


def test_requirements_are_read_as_pip_reads_them() -> None:
    assert parse_requirements(["nltk >=3", "a[x]", "nltk>=3"]) == ("a[x]", "nltk>=3")
    with pytest.raises(UsageError, match="`two words` is not a requirement"):
        parse_requirements(["two words"])


def test_they_are_spans_or_seconds() -> None:
    assert [parse_span(text, "--x") for text in ("10m", "90", " 2h ")] == [600, 90, 7200]


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5h", "0", "0s"])
def test_an_invalid_span_is_refused_with_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match="--score-timeout"):
        parse_span(text, "--score-timeout")


def test_a_resume_keeps_what_is_not_requested_again() -> None:
    assert Deadlines(call=5).over(Deadlines(9, 8, 7)) == Deadlines(5, 8, 7)


def test_the_worker_receives_the_setting() -> None:
    plan = msgspec.structs.replace(PLAN, deadlines=Deadlines(scoring=90, rollout=300))
    spec = make_spec(plan, interpreter_in(Path()), "http://x/v1", "t")
    assert (spec.timeout_s, spec.score_s, spec.blocked_s) == (300, 90, 90)
    spec = make_spec(PLAN, interpreter_in(Path()), "http://x/v1", "t")
    assert (spec.timeout_s, spec.score_s, spec.blocked_s) == (21600, 3600, 600)


def test_a_plan_shows_them() -> None:
    assert ("Deadlines", "call 30m, scoring 1h, rollout 6h") in PLAN.lines()
    assert str(Deadlines()) == "call 30m, scoring 1h, rollout 6h"
    assert [span_text(n) for n in (1, 90, 3600, 90000)] == ["1s", "90s", "1h", "25h"]


def test_names_come_with_commas_and_values_keep_theirs() -> None:
    given = given_variables(["A_KEY,B_KEY", "MODE=strict,fast", "EMPTY="])
    assert given.names == ("A_KEY", "B_KEY", "MODE", "EMPTY")
    assert given.values == {"MODE": "strict,fast", "EMPTY": ""}


def test_a_file_is_read_like_other_tools_do_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "# keys\nexport A_KEY='one # two'\nMODE = \"strict\\nly\"\nBARE\nLAST=x # why\n",
        encoding="utf-8",
    )
    given = given_variables(["LAST=y"], file)
    assert given.names == ("A_KEY", "MODE", "BARE", "LAST")
    assert given.values == {"A_KEY": "one # two", "MODE": "strict\nly", "LAST": "y"}


def test_a_line_that_assigns_nothing_is_named(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("A=1\n'open\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        given_variables([], file)


@pytest.mark.parametrize("word", ["=x", "A KEY", "A-KEY=1", "sk-pasted-key"])
def test_what_cannot_be_a_name_is_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        given_variables([word])
    assert word not in caught.value.message


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        given_variables([], tmp_path / ".env")


def test_what_is_allowed_for_good_need_not_be_set() -> None:
    assert with_always_allowed(("A",), ("B", "A", "C"), {"B": "1", "A": "1"}) == ("A", "B")


# --- Examples ---

NUMBERS = st.integers(0, 60)
SPANS = st.tuples(NUMBERS, NUMBERS).map(sorted)


@given(st.lists(SPANS, min_size=1, max_size=8))
def test_examples_are_the_numbers_of_all_spans_once_and_in_order(spans: list[list[int]]) -> None:
    text = " , ".join(f"{low}-{high}" if low != high else str(low) for low, high in spans)
    expected = sorted({n for low, high in spans for n in range(low, high + 1)})
    written = parse_examples(text)
    assert example_numbers(written) == expected
    # One spelling for one choice, so that a resume may compare texts; the worker reads the same.
    assert parse_examples(",".join(map(str, reversed(expected)))) == written
    assert parse_examples(written) == written
    assert read_most(5, {"examples": written}) == expected[-1] + 1
    rows = {number: f"row {number}" for number in range(61)}
    assert choose(rows, -1, {"examples": written}) == {n: f"row {n}" for n in expected}


@given(st.text(alphabet="0123456789,- x", max_size=12))
def test_any_other_text_is_a_usage_error(text: str) -> None:
    try:
        written = parse_examples(text)
    except UsageError:
        written = ""
    spans = [part.split("-") for part in text.replace(" ", "x").split(",")]
    good = all(len(span) <= 2 and all(map(str.isdigit, span)) for span in spans)
    if not good and " " not in text:
        assert written == ""
    if written:
        assert example_numbers(written) == sorted(set(example_numbers(written)))


@pytest.mark.parametrize(
    "text", ["", "3,", "5-2", "-1", "1-2-3", "a", "1.5", f"0-{MOST_EXAMPLES}", "٣"]
)
def test_an_invalid_list_of_examples_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="has no list of examples"):
        parse_examples(text)
