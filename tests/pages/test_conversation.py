import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.pages.conversation import MOST_CHARACTERS, shown_text, tokens_of, turns_of
from prime_cli.pages.runs import Link, Sample, render_rollout, view_rollout
from prime_cli.pages.samples import sample_of
from prime_cli.pages.templates import render

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
NAMES = "role content tool_calls tool_call_id id function name arguments logprobs text image_url"
MESSAGES = st.lists(st.dictionaries(st.sampled_from(NAMES.split()), JSON), max_size=5)


@given(JSON | MESSAGES, JSON | MESSAGES)
def test_whatever_a_rollout_holds_has_a_page_without_its_markup(
    prompt: Any, completion: Any
) -> None:
    sample = Sample(prompt=prompt, completion=completion, state={"a": prompt})

    page = render(render_rollout(view_rollout(sample, path="/r", run=Link("run", "/"), title="t")))

    assert b"<script>" not in page


def test_a_result_stands_beside_its_call_only_once() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}}
    messages = [
        {"role": "assistant", "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
        {"role": "tool", "tool_call_id": "b", "content": "of nobody"},
    ]

    turns = turns_of(messages)

    assert [turn.role for turn in turns] == ["assistant", "tool"]
    first, second = turns[0].calls
    assert first.result is not None
    assert first.result.text == "done"
    assert first.arguments.text == '{\n  "x": 1\n}'
    assert second.result is None


def test_only_images_inside_the_message_are_shown() -> None:
    inside = "data:image/png;base64,aGk="
    parts = [
        {"type": "image_url", "image_url": {"url": address}}
        for address in (inside, "https://elsewhere.example/a.png", "data:image/svg+xml,<svg>")
    ]

    (turn,) = turns_of([{"role": "user", "content": parts}])

    assert [picture.source for picture in turn.pictures] == [inside, "", ""]


def test_long_texts_say_how_much_is_left_out() -> None:
    (turn,) = turns_of("x" * (MOST_CHARACTERS + 5))

    assert turn.texts[0].left_out == 5
    assert len(turn.texts[0].text) == MOST_CHARACTERS


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), math.inf, math.nan, "1", None], ids=range(6)
)
def test_what_is_no_finite_number_is_neither_a_reward_nor_a_probability(number: Any) -> None:
    assert sample_of({"reward": number}).reward is None
    assert not tokens_of({"content": [{"token": "a", "logprob": number}]}).shown


def test_recorded_probabilities_are_shown_by_token() -> None:
    tokens = [
        {"token": "a", "logprob": 0.0},
        {"token": "b", "logprob": math.log(0.1)},
        {"token": 1},
    ]

    found = tokens_of({"content": tokens})

    assert [(each.text, each.level) for each in found.shown] == [("a", 4), ("b", 0)]


HOSTILE: dict[str, Any] = {
    "calls": [{"role": "assistant", "tool_calls": [{}] * 100_000}],
    "calls over turns": [{"role": "assistant", "tool_calls": [{}] * 1000}] * 400,
    "texts": [{"role": "user", "content": ["a"] * 100_000}],
    "tokens": [{"role": "a", "logprobs": {"content": [{"token": "a", "logprob": 0}] * 100_000}}],
    "a list": [{"role": "user", "content": {"a": list(range(100_000))}}],
    "turns": [{"role": "user", "content": "a"}] * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_rollout_of_many_parts_has_a_page_of_some_of_them_that_says_so(name: str) -> None:
    sample = Sample(completion=HOSTILE[name], metrics=dict.fromkeys(map(str, range(9000)), 1.0))

    page = render(render_rollout(view_rollout(sample, path="/r", run=Link("run", "/"), title="t")))

    assert len(page) < 1_500_000
    assert re.search(
        rb"more (messages|parts of messages) are in the downloads|the first 5000|"
        rb"The rest is in the downloads",
        page,
    )
    assert b"8,800 are not shown" in page


def test_json_beyond_what_a_page_indents_is_shown_as_it_came() -> None:
    result = json.dumps({"rows": [{"n": number} for number in range(1000)]})
    said = [
        message
        for number in range(20)
        for message in (
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "name": "look"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        )
    ]

    shown = [call.result for turn in turns_of([], said) for call in turn.calls]

    assert shown[0] is not None
    assert shown[0].text.startswith('{\n  "rows"')
    assert shown[-1] is not None
    assert (shown[-1].text, shown[-1].left_out) == (result, 0)


def test_tokens_left_out_are_counted() -> None:
    found = tokens_of({"content": [{"token": "a", "logprob": 0}] * 7}, most=5)

    assert (len(found.shown), found.left_out) == (5, 2)


def test_what_is_nested_too_deeply_is_said_to_be() -> None:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]

    assert shown_text(value).left_out is None
