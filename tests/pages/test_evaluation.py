import pytest

from prime_cli.pages.evaluation import draw_histogram, render_evaluation
from prime_cli.wire.evaluations import EvaluationDetail


@pytest.mark.parametrize("rewards", [[1.0], [0.5, 0.5], [0.0, 1.0, 2.0], [-1.0, 5.5]])
def test_every_reward_is_in_a_bar(rewards: list[float]) -> None:
    drawn = draw_histogram(rewards)
    counts = [int(part.partition("<")[0]) for part in drawn.split("<title>")[1:]]
    assert sum(counts) == len(rewards)


def test_without_rewards_there_are_no_bars() -> None:
    assert "<svg" not in draw_histogram([])


def test_page_needs_no_hub() -> None:
    """What a local run and a run on a hub have in common is enough for a page."""
    run = EvaluationDetail(evaluation_id="r1", name="a <run>", status="COMPLETED", model_name="m")
    sample = {"example_id": 0, "prompt": "2+2", "completion": [{"content": "<b>"}], "reward": 1}
    page = render_evaluation(run, [sample], [1.0])
    assert page.title == "a <run>"
    assert "<b>" not in page.body
    assert "&lt;b&gt;" in page.body
    assert "1 rewards from 1.000 to 1.000" in page.body
