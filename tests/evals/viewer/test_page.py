from typing import Any

import pytest

from prime_cli.evals.viewer.page import page_of
from prime_cli.runs.rows import Failure
from tests.runs.rows import row

CALL = {"function": {"name": "guess", "arguments": '{"word": "crane"}'}}


def test_a_page_shows_parts_of_the_reward_timing_turns_and_calls() -> None:
    told = row(
        3,
        1,
        0.5,
        metrics={"format": 0.25},
        timing={"total": 1.5},
        usage={"input": 7},
        prompt=[{"role": "user", "content": "guess"}],
        completion=[{"role": "assistant", "content": "", "tool_calls": [CALL]}],
        answer="crane",
        stop_condition="max_turns",
        is_truncated=True,
    )
    page = page_of(told, 8)
    assert (page.title, page.number) == ("example 3, rollout 1", 8)
    assert [(block.kind, block.label, block.text) for block in page.blocks] == [
        ("fact", "reward", "0.5"),
        ("fact", "  format", "0.25"),
        ("fact", "ended by", "max_turns, cut short by a token limit"),
        ("fact", "seconds", "total 1.5"),
        ("fact", "tokens", "input 7"),
        ("turn", "user", "guess"),
        ("call", "assistant calls", 'guess({"word": "crane"})'),
        ("fact", "answer", "crane"),
    ]


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        ({"cost": 0.5}, "$0.50"),
        ({"cost": None, "known_cost": 0.25, "unpriced": 1}, "at least $0.25"),
        ({"cost": None, "known_cost": 0.0, "unpriced": 1}, "unknown"),
    ],
)
def test_an_unknown_cost_is_shown_in_words(counted: dict[str, Any], told: str) -> None:
    page = page_of(row(0, usage={"input": 7} | counted), 0)
    facts = {block.label: block.text for block in page.blocks}
    assert facts["tokens"] == "input 7"
    assert facts["cost"] == told


def test_an_error_comes_with_its_class_and_traceback() -> None:
    failure = Failure("infra", "APITimeoutError", "Request timed out", True, "Traceback …")
    page = page_of(row(0, reward=None, attempt=2, error=failure), 0)
    assert page.title == "example 0, rollout 0, attempt 2"
    assert [(block.label, block.text) for block in page.blocks if block.kind == "error"] == [
        ("infra error (may be tried again)", "APITimeoutError: Request timed out"),
        ("traceback", "Traceback …"),
    ]


def test_a_prompt_of_plain_text_is_named_as_such() -> None:
    page = page_of(row(0, prompt="Once upon", completion="a time"), 0)
    turns = [(block.label, block.text) for block in page.blocks if block.kind == "turn"]
    assert turns == [("prompt", "Once upon"), ("completion", "a time")]
