"""What strangers write is text: a page has the same elements whatever stands in its fields."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from hypothesis import given

from prime_cli.pages.evaluation import evaluation_page
from prime_cli.pages.leaderboard import (
    Leaderboard,
    LeaderboardRow,
    Neighbour,
    Neighbours,
    leaderboard_page,
)
from prime_cli.pages.overview import EvaluationSamples, Overview
from prime_cli.pages.runs import RunFilter
from prime_cli.pages.sample_page import sample_page as page_of_sample
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


def sample_page(text: str) -> Page:
    """The page of a sample with `text` in every field."""
    call = {"id": text, "function": {"name": text, "arguments": text}}
    said: list[dict[str, Any]] = [
        {"role": text, "content": text, "reasoning_content": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": text, "content": text},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": text}}]},
        {"role": "assistant", "logprobs": {"content": [{"token": text, "logprob": -0.5}]}},
    ]
    body = {
        "prompt": said[:1],
        "completion": said[1:],
        "reward": 0.5,
        "metrics": {f"m{text}": text},
        "answer": text,
        "info": {text: text},
        "task": text,
        "stop_condition": text,
        "error": {"class": text, "type": text, "message": text, "traceback": text},
        f"own{text}": text,
    }
    line = SampleLine(1, encode([text, text]).decode(), 0.5, True)
    return page_of_sample(_DETAIL, line, encode(body), 2)


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
    filters = RunFilter(reward=text, text=text, errors=True)
    return evaluation_page(detail, EvaluationSamples(lines, 2, overview), filters, 1, text)


def board_page(text: str) -> Page:
    """A leaderboard with `text` in every field."""
    metadata = EnvironmentMetadata(description=text, tags=[text])
    detail = EnvironmentDetail(
        id="e", name=text, owner=Owner(text, "user"), metadata=metadata, semantic_version=text
    )
    rows = [
        LeaderboardRow(
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
    board = Leaderboard(rows, [text], [text])
    neighbours = Neighbours({f"1{text}": Neighbour(text, "higher", 0.01)}, problem=text)
    return leaderboard_page(detail, board, HistoryQuery(model_name=text, version=text), neighbours)


def _elements(make: Callable[[str], Page], text: str) -> list[tuple[str, tuple[str, ...]]]:
    return _Elements(render(make(text))).found


_TEXTS = markups.map(lambda text: f"x{text}".replace("`", "'"))
"""Neither empty nor JSON, nor in the backticks that become code, which pages show otherwise."""


@given(_TEXTS)
def test_a_sample_has_the_same_elements_whatever_is_written_in_it(text: str) -> None:
    assert _elements(sample_page, text) == _elements(sample_page, "x" * html_bytes(text))


@given(_TEXTS)
def test_an_evaluation_has_the_same_elements_whatever_is_written_in_it(text: str) -> None:
    assert _elements(run_page, text) == _elements(run_page, "x")


@given(_TEXTS)
def test_a_leaderboard_has_the_same_elements_whatever_is_written_in_it(text: str) -> None:
    assert _elements(board_page, text) == _elements(board_page, "x")
