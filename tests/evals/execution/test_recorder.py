"""A rollout's row holds what it used, and the note beside the bar what the run did."""

import tracemalloc
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.evals.execution.recorder import (
    MOST_ROLLOUTS,
    EventFilter,
    row_of,
)
from prime_cli.models.prices import ChargeKey, Charges, Price, Spend, TokenUsage
from prime_cli.runs.plan import ALL
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.protocol import ErrorClass, ReportedUsage, Rollout, RolloutError, Start
from tests.runs.saving import PLAN

PRICE = Price(input=1.0, output=10.0)
POLICY = ChargeKey("policy", "m")
JUDGE = ChargeKey("judge", "big")
ONE = Spend.of(TokenUsage(calls=1, input=10**5, output=10**4), PRICE)
UNKNOWN = Spend.of(TokenUsage(calls=1, input=10), None)


def finished(**more: object) -> Rollout:
    return Rollout(example_id=0, rollout=0, reward=1.0, **more)  # type: ignore[arg-type]


def test_the_policys_usage_is_apart_from_its_judges_and_the_cost_is_of_both() -> None:
    charges: Charges = {POLICY: ONE, JUDGE: ONE}
    written = row_of(finished(), charges)
    assert written.usage == {"calls": 1, "input": 10**5, "output": 10**4, "cost": 0.2}
    assert written.judges == {"judge": {"big": written.usage}}
    assert written.cost == 0.4
    assert written.apart == {}


def test_a_judge_without_a_price_makes_the_cost_unknown_and_keeps_the_policys() -> None:
    written = row_of(finished(), {POLICY: ONE, JUDGE: UNKNOWN})
    assert written.cost is None
    assert written.usage is not None
    assert written.usage["cost"] == 0.2
    assert written.judges["judge"]["big"]["cost"] is None


def test_a_rollout_without_calls_costs_nothing_and_one_whose_calls_went_past_is_unknown() -> None:
    assert row_of(finished(), {}).cost == 0
    past = row_of(finished(usage=ReportedUsage(input=5, output=7)), {})
    assert past.cost is None
    assert past.usage == {"input": 5, "output": 7}


CHAIN = (
    "Traceback (most recent call last):\nKeyError: 'words'\n\n"
    "During handling of the above exception, another exception occurred:\n\n"
    "Traceback (most recent call last):\nRuntimeError: cannot grade\n"
)
AWAY = "ConnectionError: Couldn't reach 'openai/gsm8k' on the Hub (X)\n"


@pytest.mark.parametrize(
    ("kind", "message", "trace", "said"),
    [
        ("environment", "cannot grade", CHAIN, "cannot grade, because of KeyError: 'words'"),
        ("environment", "KeyError: 'words'", CHAIN, "KeyError: 'words'"),
        ("environment", "no data", AWAY, "no data (huggingface.co cannot be reached)"),
        ("environment", "no data", None, "no data"),
        ("infra", "cannot grade", CHAIN, "cannot grade"),
    ],
)
def test_an_error_of_the_environment_says_what_it_hides(
    kind: ErrorClass, message: str, trace: str | None, said: str
) -> None:
    error = RolloutError(kind=kind, type="RuntimeError", message=message, traceback=trace)
    written = row_of(finished(error=error), {})
    assert written.error is not None
    assert written.error.message == said
    # Of what prime refused, the sentence is the cause.
    refused = msgspec.structs.replace(error, type="HostRefused")
    assert getattr(row_of(finished(error=refused), {}).error, "message", None) == message


def test_an_error_of_any_length_is_cut() -> None:
    long = "x" * 20_000_000
    error = RolloutError(kind="environment", type=long, message=long, traceback=long)
    assert len(msgspec.json.encode(row_of(finished(error=error), {}).error)) < 1_100_000


START = Start(examples=2, planned=4, owed=4, unit="rollout")


def event_filter(*, started: bool = True, work: WorkList | None = None, **plan: Any) -> EventFilter:
    made = EventFilter(msgspec.structs.replace(PLAN, **plan), work or WorkList(1))
    if started:
        made.begin(START)
    return made


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_rollouts_that_are_owed_are_taken_at_each_attempt(attempt: int) -> None:
    taken = event_filter(max_retries=2)
    for example in (0, 1):
        taken.check(Rollout(example_id=example, rollout=1, attempt=attempt))


@pytest.mark.parametrize(
    "told",
    [
        {"example_id": 2, "rollout": 0},
        {"example_id": -1, "rollout": 0},
        {"example_id": 10**30, "rollout": 0},
        {"example_id": 0, "rollout": 2},
        {"example_id": 0, "rollout": -1},
        {"example_id": 0, "rollout": 0, "attempt": 0},
        {"example_id": 0, "rollout": 0, "attempt": 2},
        {"example_id": 1, "rollout": 0, "attempt": 1},
        {"example_id": 1, "rollout": 1},
    ],
)
def test_others_are_refused(told: dict[str, Any]) -> None:
    work = WorkList(1, done=[(1, 1)], attempts={(1, 0): 2})
    with pytest.raises(EnvironmentFailed, match="not requested"):
        event_filter(work=work).check(Rollout(**told))


def test_a_run_of_millions_keeps_no_list_of_its_examples() -> None:
    taken = event_filter(started=False, num_examples=ALL, rollouts_per_example=1)
    tracemalloc.start()
    taken.begin(Start(examples=MOST_ROLLOUTS, planned=MOST_ROLLOUTS, owed=0, unit="rollout"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    taken.check(Rollout(example_id=MOST_ROLLOUTS - 1, rollout=0))
    assert peak < 100_000


def test_nothing_is_taken_before_the_start() -> None:
    with pytest.raises(EnvironmentFailed):
        event_filter(started=False).check(Rollout(example_id=0, rollout=0))


@pytest.mark.parametrize(
    "told",
    [
        {"examples": 3, "planned": 6},
        {"examples": -1, "planned": -2},
        {"examples": 2, "planned": 5},
        {"examples": 2, "planned": 4, "owed": 5},
        {"examples": 2, "planned": 4, "owed": -1},
    ],
)
def test_a_start_that_cannot_be_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(EnvironmentFailed):
        event_filter(started=False).begin(Start(unit="rollout", **told))


def test_a_second_start_and_more_rollouts_than_memory_holds_are_refused() -> None:
    with pytest.raises(EnvironmentFailed):
        event_filter().begin(START)
    huge = Start(examples=MOST_ROLLOUTS, planned=2 * MOST_ROLLOUTS, unit="rollout")
    with pytest.raises(EnvironmentFailed):
        event_filter(started=False, num_examples=ALL).begin(huge)


def test_a_group_that_lacks_a_rollout_is_taken_whole_at_its_latest_attempt() -> None:
    work = WorkList(1, done=[(0, 0), (1, 0), (1, 1)], attempts={(0, 1): 3})
    groups = event_filter(started=False, work=work)
    groups.begin(Start(examples=2, planned=4, owed=2, unit="group"))
    for rollout in (0, 1):
        groups.check(Rollout(example_id=0, rollout=rollout, attempt=3))
    with pytest.raises(EnvironmentFailed):
        groups.check(Rollout(example_id=1, rollout=0))
