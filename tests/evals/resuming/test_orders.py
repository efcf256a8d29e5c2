"""Which rollouts a resume leaves alone, and with which attempt the others begin."""

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.evals.resuming.orders import GROUP, next_attempts, scored, settled
from prime_cli.evals.rows import Row
from prime_cli.evals.tally import Tally
from tests.evals.rows import row


def tally_of(*rows: Row) -> Tally:
    tally = Tally()
    for each in rows:
        tally.add(each)
    return tally


def test_what_has_a_score_is_left_alone_and_errors_are_owed() -> None:
    tally = tally_of(row(0), row(0, 1, None), row(1, 1))
    done = scored(tally, "rollout", 2)
    assert done == [(0, 0), (1, 1)]
    assert next_attempts(tally, done) == {(0, 1): 2}


def test_a_group_is_left_alone_as_a_whole_or_not_at_all() -> None:
    tally = tally_of(row(0), row(0, 1), row(1), row(1, 1, None), row(2))
    done = scored(tally, GROUP, 2)
    assert done == [(0, 0), (0, 1)]
    assert next_attempts(tally, done) == {(1, 0): 2, (1, 1): 2, (2, 0): 2}


def test_a_group_grows_as_a_whole() -> None:
    tally = tally_of(row(0), row(0, 1))
    assert scored(tally, GROUP, 3) == []
    assert next_attempts(tally, []) == {(0, 0): 2, (0, 1): 2}


def test_scores_of_two_attempts_at_a_group_do_not_belong_together() -> None:
    tally = tally_of(row(0), row(0, 1, None), row(0, 1), row(0, 0, attempt=2))
    assert scored(tally, GROUP, 2) == []


def test_an_error_of_this_session_is_not_tried_again_in_it() -> None:
    tally = tally_of(row(0, 0, None), row(1, 0, None), row(1, 0, None, attempt=2))
    since = next_attempts(tally_of(row(0, 0, None), row(1, 0, None)), [])
    assert settled(tally, "rollout", 1, since) == [(1, 0)]


PAIRS = st.tuples(st.integers(0, 3), st.integers(0, 2))


@given(st.lists(st.tuples(PAIRS, st.booleans(), st.integers(1, 3))), st.sampled_from([GROUP, None]))
def test_every_rollout_is_either_left_alone_with_a_score_or_tried_at_a_later_attempt(
    rows: list[tuple[tuple[int, int], bool, int]], unit: str | None
) -> None:
    tally = tally_of(
        *(row(e, r, 1.0 if good else None, attempt=number) for (e, r), good, number in rows)
    )
    done = scored(tally, unit, 3)
    later = next_attempts(tally, done)
    for last in tally.attempts():
        if last.pair in done:
            assert last.scored
            assert last.pair not in later
        else:
            assert later[last.pair] == last.number + 1
