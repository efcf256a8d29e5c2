"""How many rollouts were asked for more than once is counted from the journal alone."""

from prime_cli.pages.evaluation import EvaluationSamples, evaluation_page
from prime_cli.pages.templates import render
from prime_cli.runs.comparison.compare import CompareOptions, compare_all
from prime_cli.runs.comparison.sides import Example, Side
from prime_cli.runs.rows import AskedAgain, Failure, Row
from prime_cli.runs.tally import Tally
from prime_cli.wire.evaluations import EvaluationDetail
from tests.runs.rows import row

RAISED = Failure("environment", "RewardFailed", "right: 'k'")


def counted(*rows: Row) -> AskedAgain:
    tally = Tally()
    for each in rows:
        tally.add(each)
    return tally.asked_again


def test_a_first_attempt_and_an_answer_that_was_scored_again_are_not_counted() -> None:
    scored = row(0, 0, attempt=2, again="scored")
    assert counted(row(0, 0, None, error=RAISED), scored, row(1)) == AskedAgain()


def test_a_rollout_counts_once_and_in_each_of_its_reasons() -> None:
    found = counted(
        row(0, 0, None),
        row(0, 0, None, attempt=2, again="infra"),
        row(0, 0, None, attempt=3, again="infra"),
        row(0, 0, attempt=4, again="group"),
    )
    assert found == AskedAgain(rollouts=1, infra=1, group=1)
    assert found.words == "1 rollout: 1 after an infra error, 1 with their group"


def test_rows_of_an_older_prime_show_the_previous_attempt() -> None:
    found = counted(
        row(0, 0, None),
        row(0, 0, attempt=2),
        row(1, 0, None, error=RAISED),
        row(1, 0, attempt=2),
        row(2),
        row(2, 0, attempt=2),
        row(3, 0, attempt=3),
    )
    assert found == AskedAgain(rollouts=4, infra=1, group=1, other=2)


def test_a_reason_that_nobody_knows_is_not_trusted() -> None:
    assert counted(row(0), row(0, 0, attempt=2, again="luck")) == AskedAgain()


def test_a_comparison_shows_it_for_either_run() -> None:
    examples = {n: Example(rewards=[1.0]) for n in range(3)}
    again = AskedAgain(rollouts=2, requested=2)
    first, other = Side("a1", "e", "m", examples), Side("b2", "e", "m", examples, asked_again=again)
    (found,) = compare_all([(first, other)], CompareOptions())
    assert found.other.asked_again == again
    assert "b2 asked its model again for 2 rollouts: 2 by `--retry-errors`" in found.notes


def test_the_page_of_an_evaluation_shows_it_and_ignores_nonsense() -> None:
    def page(told: object) -> str:
        detail = EvaluationDetail(
            evaluation_id="ev_1", name="n", status="COMPLETED", metadata={"prime": told}
        )
        return render(evaluation_page(detail, EvaluationSamples())).decode()

    assert "2 rollouts were retried (worker died 2)" in page(
        {"asked_again": {"rollouts": 2, "infra": 0, "worker_died": 2}}
    )
    unlikely: list[object] = [None, [], {"asked_again": 3}, {"asked_again": {"rollouts": "<b>"}}]
    for nonsense in unlikely:
        assert "were retried" not in page(nonsense)
