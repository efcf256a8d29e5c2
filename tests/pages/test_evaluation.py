import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from prime_cli.core.errors import TooLarge
from prime_cli.evals.viewer.filters import parse_reward
from prime_cli.pages.evaluation import (
    EvaluationSamples,
    Overview,
    SampleLine,
    evaluation_page,
    sample_page,
    sample_query,
)
from prime_cli.pages.runs import RunFilter
from prime_cli.pages.templates import render
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationDetail

RUN = EvaluationDetail(
    evaluation_id="r1", name="a <run>", status="COMPLETED", model_name="m", total_samples=3
)
LINES = [
    SampleLine(1, '["0.0"]', 1.0, False),
    SampleLine(2, '["0.1"]', 0.0, False),
    SampleLine(3, None, None, True),
]


def test_samples_stand_in_a_grid_of_examples_by_rollouts() -> None:
    overview = Overview.of(LINES, {}, total=3, errors=1)
    page = evaluation_page(RUN, EvaluationSamples(LINES, 3, overview))

    html = render(page).decode()

    assert page.title == "a <run>"
    assert "<h1>a &lt;run&gt;</h1>" in html
    assert "Reward: 2 values from 0 to 1" in html
    assert html.count('href="r1/samples/') == 3
    assert html.count('<th scope="row">') == 2


def test_tokens_and_cost_are_those_that_our_client_told() -> None:
    told = {"usage": {"input": 1200, "output": 3, "cost": 0.5}, "cost": 0.0125}
    samples = EvaluationSamples(LINES, 3, Overview())

    html = render(evaluation_page(structs.replace(RUN, metadata={"prime": told}), samples)).decode()

    assert "<dt>Input tokens</dt><dd>1,200</dd>" in html
    assert "<dt>Cost</dt><dd>$0.0125</dd>" in html
    for other in ({"usage": 3, "cost": "<b>"}, {"usage": {"input": "x"}, "cost": None}, [1]):
        odd = structs.replace(RUN, metadata={"prime": other})
        assert "<dt>Cost</dt>" not in render(evaluation_page(odd, samples)).decode()


def test_a_sample_is_shown_turn_by_turn() -> None:
    body = {"prompt": "2+2", "completion": [{"role": "assistant", "content": "<b>"}], "reward": 1}

    html = render(sample_page(RUN, LINES[1], encode(body), 3)).decode()

    assert "Example 0, rollout 1" in html
    assert "&lt;b&gt;" in html
    assert 'rel="next" href="/dashboard/evaluations/r1/samples/3"' in html


def test_a_sample_too_large_for_a_page_is_left_to_its_command() -> None:
    with pytest.raises(TooLarge, match="Sample 2 has 2,097,165 bytes") as raised:
        sample_page(RUN, LINES[1], encode({"prompt": "x" * (2 << 20)}), 3)

    assert raised.value.hint == "get it with `prime eval samples r1 -n 1 -p 2`"


def test_a_page_says_how_many_of_too_many_metadata_it_leaves_out() -> None:
    detail = structs.replace(RUN, metadata={f"field {number}": number for number in range(1000)})
    overview = Overview.of(LINES, {}, total=3, errors=1)

    html = render(evaluation_page(detail, EvaluationSamples(LINES, 3, overview))).decode()

    assert html.count("<dt>field ") == 200
    assert "800 are not shown" in html


@pytest.mark.parametrize(
    ("identity", "place"),
    [
        ('["4.2"]', ("4", "2")),
        ('["4","2"]', ("4", "2")),
        ('["name"]', ("name", "")),
        (None, ("7", "")),
        ("ab" * 32, ("7", "")),
        ("[1]", ("7", "")),
        ("[]", ("7", "")),
        ("3", ("7", "")),
    ],
)
def test_a_sample_says_which_example_and_rollout_it_is(
    identity: str | None, place: tuple[str, str]
) -> None:
    assert SampleLine(7, identity, 1.0, False).place == place


@given(
    st.sampled_from(["", "=", "<", "<=", ">", ">=", ".."]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 3.5]),
)
def test_the_bounds_for_a_hub_mean_what_the_filter_of_local_runs_means(
    sign: str, limit: float, reward: float
) -> None:
    text = f"{limit}..1" if sign == ".." else f"{sign}{limit}"

    query = sample_query(RunFilter(reward=text), 1)

    assert query is not None
    low = -math.inf if query.reward_above is None else query.reward_above
    high = math.inf if query.reward_below is None else query.reward_below
    assert (low < reward < high) == parse_reward(text)(reward)


def test_a_filter_that_is_none_is_not_sent() -> None:
    assert sample_query(RunFilter(reward="high"), 1) is None
    failed = sample_query(RunFilter(reward="none", text="x"), 2)
    assert failed is not None
    assert (failed.errors_only, failed.search, failed.page) == (True, "x", 2)
