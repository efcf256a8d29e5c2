"""Which rollouts a resume leaves alone, and with which attempt the others begin."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.runs.rows import Failure, OnResume, Row, Step
from prime_cli.runs.tally import Tally
from prime_cli.runs.work_list import (
    GROUP,
    next_attempts,
    on_resume,
    owed_again,
    settled,
)
from prime_cli.runtime.worker.failures import NO_TUNNEL
from tests.runs.rows import row


def tally_of(*rows: Row) -> Tally:
    tally = Tally()
    for each in rows:
        tally.add(each)
    return tally


RAISED = Failure("environment", "RewardFailed", "right: KeyError: 'k'", in_scoring=True)
REFUSED = Failure("model", "BadRequestError", "no", in_scoring=False)
ANSWER = [{"role": "assistant", "content": "Paris"}]


def unscored(example: int, rollout: int = 0, **more: Any) -> Row:
    """A rollout whose answer was had, and whose reward raised."""
    return row(example, rollout, None, error=RAISED, completion=ANSWER, **more)


def refused(example: int, rollout: int = 0) -> Row:
    return row(example, rollout, None, error=REFUSED)


def test_the_model_is_asked_again_only_where_no_answer_was_had() -> None:
    tally = tally_of(row(0), row(0, 1, None), unscored(1), refused(1, 1))
    again = owed_again(tally, "rollout", 2)
    assert again == {(0, 1): "infra", (1, 0): "scored"}
    assert next_attempts(tally, again) == {(0, 1): 2, (1, 0): 2}
    assert on_resume(tally, "rollout", 2) == OnResume(ask=1, score=1, keep=1, own=1)


def test_all_that_ended_in_an_error_is_asked_again_on_request() -> None:
    tally = tally_of(row(0), row(0, 1, None), unscored(1), refused(1, 1))
    again = owed_again(tally, "rollout", 2, retry_errors=True)
    assert again == {(0, 1): "infra", (1, 0): "requested", (1, 1): "requested"}


def test_a_group_is_asked_again_as_a_whole_or_not_at_all() -> None:
    tally = tally_of(row(0), row(0, 1), row(1), row(1, 1, None), row(2))
    again = owed_again(tally, GROUP, 2)
    assert again == {(1, 0): "group", (1, 1): "infra", (2, 0): "group"}
    assert next_attempts(tally, again) == {(1, 0): 2, (1, 1): 2, (2, 0): 2}


def test_a_group_is_scored_again_as_a_whole_where_all_of_it_was_answered() -> None:
    tally = tally_of(row(0), unscored(0, 1), refused(1), unscored(1, 1))
    assert owed_again(tally, GROUP, 2) == {(0, 0): "scored", (0, 1): "scored"}
    assert on_resume(tally, GROUP, 2) == OnResume(score=1, keep=2, own=1)


def test_what_prime_does_not_have_and_what_may_pass_are_told_from_the_codes_own_failures() -> None:
    late = Failure("environment", "ScoringTimeout", "10 s", in_scoring=True)
    tunnel = Failure("environment", "TunnelError", f"{NO_TUNNEL}: refused")
    image = Failure("environment", "SandboxError", "no", traceback="… IMAGE_PULL_FAILED: x")
    tally = tally_of(
        row(0, 0, None, error=late, completion=ANSWER),
        row(1, 0, None, error=tunnel),
        row(2, 0, None, error=image),
        refused(3),
    )
    assert on_resume(tally, "rollout", 1) == OnResume(score=1, keep=3, lacking=2)
    assert tally.asked_again.rollouts == 0


def test_a_group_grows_as_a_whole() -> None:
    tally = tally_of(row(0), row(0, 1))
    assert owed_again(tally, GROUP, 3) == {(0, 0): "group", (0, 1): "group"}
    assert next_attempts(tally, [(0, 0), (0, 1)]) == {(0, 0): 2, (0, 1): 2}


def test_scores_of_two_attempts_at_a_group_do_not_belong_together() -> None:
    tally = tally_of(row(0), row(0, 1, None), row(0, 1), row(0, 0, attempt=2))
    assert owed_again(tally, GROUP, 2).keys() == {(0, 0), (0, 1)}


def test_an_error_of_this_session_is_not_tried_again_in_it() -> None:
    tally = tally_of(row(0, 0, None), row(1, 0, None), row(1, 0, None, attempt=2))
    since = {(0, 0): 2, (1, 0): 2}
    assert settled(tally, "rollout", 1, since) == [(1, 0)]


PAIRS = st.tuples(st.integers(0, 3), st.integers(0, 2))
ENDINGS = st.sampled_from(["scored", "infra", "refused", "unscored"])


@given(st.lists(st.tuples(PAIRS, ENDINGS, st.integers(1, 3))), st.sampled_from([GROUP, None]))
def test_an_answer_is_requested_again_only_with_its_group(
    rows: list[tuple[tuple[int, int], str, int]], unit: str | None
) -> None:
    made: dict[str, dict[str, Any]] = {
        "scored": {"reward": 1.0},
        "infra": {"reward": None},
        "refused": {"reward": None, "error": REFUSED},
        "unscored": {"reward": None, "error": RAISED, "completion": ANSWER},
    }
    tally = tally_of(*(row(e, r, **made[how], attempt=n) for (e, r), how, n in rows))
    again = owed_again(tally, unit, 3)
    later = next_attempts(tally, again)
    for last in tally.attempts():
        why = again.get(last.pair)
        assert later.get(last.pair) == (None if why is None else last.number + 1)
        if last.step is Step.ASK:
            assert why == "infra"
        elif unit is None:
            assert why == ("scored" if last.step is Step.SCORE else None)
        else:
            assert why in (None, "scored", "group")
