import dataclasses
import json

from msgspec import structs

from prime_cli.pages.evaluation import EvaluationSamples, Overview, evaluation_page
from prime_cli.pages.run_page import ExampleTable, Wanted, list_examples
from prime_cli.pages.templates import render
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.evaluations import EvaluationDetail
from tests.pages.listed import Listed

RUN = EvaluationDetail(
    evaluation_id="r1", name="a <run>", status="COMPLETED", model_name="m", total_samples=3
)
LINES = [
    SampleLine(1, '["0.0"]', 1.0, False),
    SampleLine(2, '["0.1"]', 0.0, False),
    SampleLine(3, None, None, True),
]


def test_samples_are_listed_by_example_with_a_dot_for_each_rollout() -> None:
    overview = Overview.of(LINES, {}, total=3, errors=1)
    source = Listed(overview.samples.columns, overview.samples.names)
    table = list_examples(source, None, Wanted(), "/dashboard/evaluations/r1")
    page = evaluation_page(RUN, EvaluationSamples(table, 3, overview))

    html = render(page).decode()

    assert page.title == "a <run>"
    assert "<h1>a &lt;run&gt;</h1>" in html
    assert "Reward: 2 values from 0 to 1" in html
    assert html.count('href="r1/rollouts/') == 3
    assert [list(overview.samples.columns.places(row)) for row in range(2)] == [[0, 1], [2]]
    assert html.count('<th scope="row">') == 2


def test_an_evaluation_that_goes_on_says_how_far_it_is() -> None:
    size = {"num_examples": 20, "rollouts_per_example": 2}
    samples = EvaluationSamples(ExampleTable(), 3, Overview())

    for status, words in (("RUNNING", "3 of 40"), ("COMPLETED", "3")):
        detail = structs.replace(RUN, status=status, metadata=size)
        html = render(evaluation_page(detail, samples)).decode()
        assert f"<dt>Samples</dt><dd>{words}</dd>" in html


def test_tokens_and_cost_are_those_that_our_client_told() -> None:
    told = {"usage": {"input": 1200, "output": 3, "cost": 0.5}, "cost": 0.0125}
    samples = EvaluationSamples(ExampleTable(), 3, Overview())

    html = render(evaluation_page(structs.replace(RUN, metadata={"prime": told}), samples)).decode()

    assert "<dt>Input tokens</dt><dd>1,200</dd>" in html
    assert "<dt>Cost</dt><dd>$0.013</dd>" in html
    for other in ({"usage": 3, "cost": "<b>"}, {"usage": {"input": "x"}, "cost": None}, [1]):
        odd = structs.replace(RUN, metadata={"prime": other})
        assert "<dt>Cost</dt>" not in render(evaluation_page(odd, samples)).decode()


def test_what_its_owner_says_of_its_judges_is_told_as_their_word() -> None:
    samples = EvaluationSamples(ExampleTable(), 3, Overview())
    told = ["The judge of `<b>` agrees with people", 3]
    detail = structs.replace(RUN, owner="ada", metadata={"prime_judges": told})
    html = render(evaluation_page(detail, samples)).decode()
    assert "ada says: The judge of <code>&lt;b&gt;</code> agrees with people." in html
    for odd in ('"word"', '{"a": 1}', "[[]]"):
        metadata = {"prime_judges": json.loads(odd)}
        page = evaluation_page(structs.replace(RUN, metadata=metadata), samples)
        assert "says:" not in render(page).decode()


def test_a_page_says_how_many_of_too_many_metadata_it_leaves_out() -> None:
    detail = structs.replace(RUN, metadata={f"field {number}": number for number in range(1000)})
    overview = Overview.of(LINES, {}, total=3, errors=1)

    html = render(evaluation_page(detail, EvaluationSamples(ExampleTable(), 3, overview))).decode()

    assert html.count("<dt>field ") == 199
    assert "801 are not shown" in html


def test_a_page_after_the_last_says_so_and_leads_to_the_last() -> None:
    table = list_examples(Listed.of([[1.0]]), None, Wanted(page=7), "/dashboard/evaluations/r1")
    gone = dataclasses.replace(table, lines=())

    html = render(evaluation_page(RUN, EvaluationSamples(gone, 3, Overview()))).decode()

    assert "The list ends before this page." in html
    assert "No rollout has finished yet" not in html
    assert 'rel="prev" href="/dashboard/evaluations/r1?page=1#rollouts"' in html
