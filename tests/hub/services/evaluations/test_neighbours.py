"""Neighbours on a leaderboard, compared as `prime eval compare` compares runs."""

from typing import Any

import httpx
import pytest

from prime_cli.core.formatting import format_p
from prime_cli.runs.comparison.compare import CompareOptions, compare_all
from prime_cli.runs.comparison.sides import Side, gather
from prime_cli.runs.vf_eval_reader import number_rows
from tests.hub.evaluating import finished
from tests.hub.pushing import HUB, Push

PAGE = "/dashboard/environments/ada/word"


@pytest.fixture
def word(client: httpx.Client) -> Push:
    return Push(client).run()


def samples(right: int, *, of: int = 30, prompt: str = "Guess") -> list[dict[str, Any]]:
    return [
        {"example_id": number, "prompt": f"{prompt} {number}", "reward": float(number < right)}
        for number in range(of)
    ]


def evaluate(client: httpx.Client, model: str, given: list[dict[str, Any]], **more: Any) -> None:
    said = {"model_name": model, "name": f"by {model}", "is_public": True} | more
    finished(client, given, **said)


def side(given: list[dict[str, Any]], name: str) -> Side:
    return Side(name, "word", name, gather(number_rows(given, len(given))))


def test_neighbours_have_the_verdict_of_the_command(client: httpx.Client, word: Push) -> None:
    given = {"large": samples(28), "medium": samples(27), "small": samples(5)}
    for model, each in given.items():
        evaluate(client, model, each)
    couples = [("medium", "large"), ("small", "medium")]
    sides = [(side(given[a], a), side(given[b], b)) for a, b in couples]
    first, second = compare_all(sides, CompareOptions())
    text = client.get(f"{PAGE}/evaluations").text
    assert first.verdict == "not decisive"
    assert f'not decisive <span class="faint">p {format_p(first.p_adjusted)}</span>' in text
    assert second.verdict == "higher"
    assert f'higher than small <span class="faint">p {format_p(second.p_adjusted)}</span>' in text
    assert client.get(f"{PAGE}/evaluations").text == text


def test_runs_that_cannot_be_compared_say_why(client: httpx.Client, word: Push) -> None:
    evaluate(client, "first", samples(20))
    evaluate(client, "other", samples(10, prompt="Say"))
    assert "not compared: they had different examples" in client.get(f"{PAGE}/evaluations").text


def test_large_runs_are_left_to_the_command(client: httpx.Client, word: Push) -> None:
    for model in ("first", "other"):
        evaluate(client, model, [{"example_id": number, "reward": 1.0} for number in range(5_001)])
    assert "not compared: too large" in client.get(f"{PAGE}/evaluations").text


def test_rewards_over_versions_are_drawn_in_the_order_of_versions(client: httpx.Client) -> None:
    for version in ("0.9.0", "0.10.0"):
        Push(client, version=version).run()
        found = client.get(f"{HUB}/ada/word/@{version}").json()["data"]
        of = [{"id": found["id"], "version_id": found["version_id"]}]
        evaluate(client, "large", samples(3), environments=of)
    text = client.get(f"{PAGE}/evaluations").text
    assert "Mean reward by version: large by ada ends at 0.1" in text
    chart = text[text.index("<svg") :]
    assert 0 < chart.index(">0.9.0</text>") < chart.index(">0.10.0</text>")
    assert "not decisive" not in text
