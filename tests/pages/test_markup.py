"""What strangers write is text: a page has the same elements whatever stands in its fields."""

from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import assume, given
from msgspec import structs

from prime_cli.pages.evaluation import EvaluationSamples, Overview, evaluation_page
from prime_cli.pages.evaluation_comparison import FoundSample, RolloutsBeside, beside_page
from prime_cli.pages.leaderboard import (
    LeaderboardPage,
    LeaderboardPageRow,
    Neighbour,
    Neighbours,
    leaderboard_page,
)
from prime_cli.pages.run_page import ExampleTexts, Wanted, list_examples
from prime_cli.pages.runs import RunFilter
from prime_cli.pages.samples import sample_page as page_of_sample
from prime_cli.pages.samples import sample_tokens_page
from prime_cli.pages.templates import Page, render
from prime_cli.pages.texts import html_bytes
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import EnvironmentDetail, EnvironmentMetadata, Owner
from prime_cli.wire.evaluations import (
    EvaluationDetail,
    EvaluationSummary,
    HistoryQuery,
    MetricSummary,
)
from tests.helpers.markup import markups
from tests.pages.listed import Listed

_DETAIL = EvaluationDetail(evaluation_id="ev", name="x", total_samples=2)


class _Elements(HTMLParser):
    """The elements of a page with the names of their attributes, in order."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


_LINE = SampleLine(1, '["0","0"]', 0.5, True)


def sample_body(text: str) -> bytes:
    """A sample with `text` in every field."""
    logprobs = {"content": [{"token": text, "logprob": -0.5}]}
    image = {"type": "image_url", "image_url": {"url": text}}
    # Shown, unlike others, as the source of an image.
    shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}}
    said: list[dict[str, Any]] = [
        {"role": text, "content": text, "reasoning_content": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}, image, shown]},
        *_call(text, "1", [{"type": "text", "text": text}, image, shown, {"type": text}]),
        *_call(text, "2", {"same": text, f"old{text}": text}),
        *_call(text, "3", {"same": f"now{text}", f"new{text}": text}),
        {"role": "assistant", "tool_calls": [text]},
        {"role": "assistant", "content": {f"said{text}": text}, "logprobs": logprobs},
    ]
    return encode(
        {
            "prompt": said[:1],
            "completion": said[1:],
            "reward": 0.5,
            "metrics": {f"m{text}": text, f"n{text}": 0.5},
            "answer": {f"said{text}": f"other{text}"},
            "info": {text: text},
            "task": text,
            "stop_condition": text,
            "is_truncated": text,
            "timing": {text: text},
            "token_usage": {text: 1},
            "cost": text,
            "error": {"class": text, "type": text, "message": text, "traceback": text},
            "trajectory": [{"response": {"choices": [{"logprobs": logprobs}]}}],
            f"own{text}": text,
        }
    )


def _call(text: str, identity: str, result: Any) -> list[dict[str, Any]]:
    """A call of one tool, and its result."""
    function = {"name": text, "arguments": text}
    return [
        {"role": "assistant", "tool_calls": [{"id": f"{text}{identity}", "function": function}]},
        {"role": "tool", "tool_call_id": f"{text}{identity}", "content": result},
    ]


def sample_page(text: str) -> Page:
    """The page of a sample with `text` in every field."""
    line = SampleLine(1, encode([text, text]).decode(), 0.5, True)
    detail = structs.replace(_DETAIL, evaluation_id=text, name=text)
    return page_of_sample(detail, line, sample_body(text), 2)


def token_page(text: str) -> Page:
    """The page of its tokens."""
    return sample_tokens_page(_DETAIL, _LINE, sample_body(text), "/state/trajectory", 1)


def sides_page(text: str) -> Page:
    """The samples of two evaluations beside each other."""
    found = [
        structs.replace(_DETAIL, evaluation_id=f"{number}{text}", name=text, model_name=text)
        for number in (1, 2)
    ]
    samples: list[FoundSample | str] = [FoundSample(_LINE, sample_body(text), 1), text]
    return beside_page(found, RolloutsBeside(samples, [0, 1]), 0, 0)


def run_page(text: str) -> Page:
    """The page of an evaluation with `text` in every field, also of its filter."""
    detail = EvaluationDetail(
        evaluation_id=text,
        name=text,
        status=text,
        owner=text,
        environment_names=[f"a/{text}"],
        error_message=text,
        model_name=text,
        dataset=text,
        framework=text,
        task_type=text,
        description=text,
        tags=[text, text],
        total_samples=2,
        avg_score=0.5,
        created_at=text,
        metadata={f"n{text}": text, "prime": {"asked_again": {"rollouts": 1, text: 1}}},
        summary=EvaluationSummary(2, 1, {text: MetricSummary(2, 0.5, 0.1, 0.0, 1.0)}),
    )
    lines = [
        SampleLine(number, encode([f"{number}{text}", "0"]).decode(), number / 2, False)
        for number in (1, 2)
    ]
    overview = Overview.of(lines, {text: [0.0, 1.0]}, total=2, errors=1)
    filters = RunFilter(reward=text, text=text, only=text, sort=text)
    texts = ExampleTexts(text, text, text, is_error=True)
    source = Listed(overview.samples.columns, overview.samples.names, texts)
    table = list_examples(source, None, Wanted(filters, opened="0"), f"/dashboard/{text}")
    return evaluation_page(detail, EvaluationSamples(table, 2, overview), filters, text)


def board_page(text: str) -> Page:
    """A leaderboard with `text` in every field."""
    metadata = EnvironmentMetadata(description=text, tags=[text])
    detail = EnvironmentDetail(
        id="e", name=text, owner=Owner(text, "user"), metadata=metadata, semantic_version=text
    )
    rows = [
        LeaderboardPageRow(
            evaluation_id=f"{number}{text}",
            name=text,
            model=f"{number}{text}",
            version=text,
            mean=0.5,
            interval=(0.4, 0.6),
            examples=1,
            rollouts=1,
            samples=1,
            errors=1,
            with_errors=0.4,
            cost=0.1 + number,
            tokens=1,
            date=text,
            owner=text,
        )
        for number in (1, 2)
    ]
    board = LeaderboardPage(rows, [text], [text])
    neighbours = Neighbours({f"1{text}": Neighbour(text, "higher", 0.01)}, problem=text)
    return leaderboard_page(detail, board, HistoryQuery(model_name=text, version=text), neighbours)


def _elements(make: Callable[[str], Page], text: str) -> list[tuple[str, tuple[str, ...]]]:
    return _Elements(render(make(text))).found


_TEXTS = markups.map(lambda text: f"x{text}".replace("`", "'"))
"""Neither empty nor JSON, nor in the backticks that become code, which pages show otherwise."""


@pytest.mark.parametrize(
    ("make", "most"), [(sample_page, 1_000), (token_page, 1_000), (sides_page, 300)]
)
@given(text=_TEXTS)
def test_a_sample_has_the_same_elements_whatever_is_written_in_it(
    make: Callable[[str], Page], most: int, text: str
) -> None:
    # In JSON, which is cut not far beyond that, a text is longer than `plain` by its escapes.
    assume(html_bytes(encode(text).decode()) < most)
    plain = "x" * html_bytes(text)  # as much is cut of it
    assert _elements(make, text) == _elements(make, plain)


def test_every_field_of_a_sample_is_on_its_page() -> None:
    parts = Counter(tag for tag, _ in _elements(sample_page, "x"))
    shown = render(sample_page("<i>")).decode()

    assert parts["img"] == 2
    assert parts["del"] == parts["ins"] == 3
    for before in "old now new said other m n own".split():
        assert f"{before}&lt;i&gt;" in shown, before
    assert "<i>" not in shown


@given(_TEXTS)
def test_an_evaluation_has_the_same_elements_whatever_is_written_in_it(text: str) -> None:
    assert _elements(run_page, text) == _elements(run_page, "x")


@given(_TEXTS)
def test_a_leaderboard_has_the_same_elements_whatever_is_written_in_it(text: str) -> None:
    assert _elements(board_page, text) == _elements(board_page, "x")
