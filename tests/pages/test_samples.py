"""Samples as clients push them, whose texts a page shows the beginning of."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.evals.viewer.filters import parse_reward
from prime_cli.pages.rollout import RolloutSample, render_rollout, view_rollout
from prime_cli.pages.runs import Link, RunFilter
from prime_cli.pages.samples import count_errors, sample_of, sample_page, sample_query
from prime_cli.pages.templates import render
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationDetail

LONG = "x" * 2_000


def test_texts_of_errors_that_are_cut_say_how_long_they_are() -> None:
    error = {"class": f"a{LONG}", "type": f"b{LONG}", "message": f"c{LONG}"}

    (found,) = count_errors([error])

    for text, begin in ((found.kind, "axx"), (found.type, "bxx"), (found.message, "cxx")):
        assert text.startswith(begin)
        assert text.endswith("… (2,001 characters)")


def test_a_rollout_says_how_long_the_class_of_its_error_is() -> None:
    sample: RolloutSample = sample_of({"error": {"class": LONG, "message": "no"}})

    assert sample.error is not None
    assert sample.error.label.endswith("… (2,000 characters) error")


def test_a_value_that_is_nested_too_deeply_is_said_to_be_so() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]

    view = view_rollout(
        sample_of({"metrics": {"a": deep}, "error": {"message": deep}, "stop_condition": deep}),
        path="/r",
        run=Link("a run", "/"),
        title="a rollout",
    )

    assert "nested too deeply to be shown" in render(render_rollout(view)).decode()


def test_errors_of_a_kind_are_counted_together() -> None:
    one = {"class": "ModelError", "type": "Timeout", "message": "after 3 s"}
    other = {"class": "ModelError", "type": "Timeout", "message": "after 4 s"}

    (found,) = count_errors([one, other])

    assert found == ("ModelError", "Timeout", 2, "after 3 s")


@given(
    st.sampled_from(["", "=", "<", "<=", ">", ">=", ".."]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
)
def test_the_bounds_for_a_hub_mean_what_the_filter_of_local_runs_means(
    sign: str, limit: float, reward: float
) -> None:
    text = f"{limit}..1" if sign == ".." else f"{sign}{limit}"

    query = sample_query(RunFilter(reward=text))

    low = -math.inf if query.reward_above is None else query.reward_above
    high = math.inf if query.reward_below is None else query.reward_below
    assert (low < reward < high) == parse_reward(text)(reward)


def test_a_filter_that_is_none_is_not_sent() -> None:
    with pytest.raises(UsageError, match="`high` is not a range"):
        sample_query(RunFilter(reward="high"))
    with pytest.raises(UsageError, match="`high` is not an outcome"):
        sample_query(RunFilter(only="high"))
    failed = sample_query(RunFilter(reward="none", text="x"))
    assert (failed.errors_only, failed.search) == (True, "x")


RUN = EvaluationDetail(evaluation_id="r1", name="a run", total_samples=3)
LINE = SampleLine(2, '["0.1"]', 0.0, False)


def test_a_sample_is_shown_turn_by_turn() -> None:
    body = {"prompt": "2+2", "completion": [{"role": "assistant", "content": "<b>"}], "reward": 1}

    html = render(sample_page(RUN, LINE, encode(body), 3)).decode()

    assert "Example 0, rollout 1" in html
    assert "&lt;b&gt;" in html
    assert 'rel="next" href="/dashboard/evaluations/r1/samples/3"' in html


def test_a_sample_too_large_for_a_page_is_left_to_its_command() -> None:
    with pytest.raises(TooLarge, match="Sample 2 has 2,097,165 bytes") as raised:
        sample_page(RUN, LINE, encode({"prompt": "x" * (2 << 20)}), 3)

    assert raised.value.hint == "get it with `prime eval samples r1 -n 1 -p 2`"
