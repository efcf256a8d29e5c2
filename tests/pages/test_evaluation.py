from prime_cli.pages.evaluation import evaluation_page
from prime_cli.pages.templates import render
from prime_cli.wire.evaluations import EvaluationDetail


def test_page_needs_no_hub() -> None:
    """What a local run and a run on a hub have in common is enough for a page."""
    run = EvaluationDetail(evaluation_id="r1", name="a <run>", status="COMPLETED", model_name="m")
    sample = {"example_id": 0, "prompt": "2+2", "completion": [{"content": "<b>"}], "reward": 1}
    page = evaluation_page(run, [sample], [1.0])
    assert page.title == "a <run>"
    html = render(page).decode()
    assert "<h1>a &lt;run&gt;</h1>" in html
    assert "&lt;b&gt;" in html
    assert "Rewards: 1 value from 1 to 1" in html
