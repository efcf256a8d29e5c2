"""Flags win over what the environment declares, that over the defaults."""

from typing import Any

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.planning.locate import EvalDefaults, defaults_from
from prime_cli.evals.planning.parsers import parse_names, parse_object
from prime_cli.evals.planning.prepare import make_plan
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.plan import EvalPlan, RunEnvironment

HUB = RunEnvironment("wordle", "1.2", "wordle", "ab" * 32, ref="ada/wordle@1.2")


def plan(defaults: EvalDefaults = EvalDefaults(), **flags: Any) -> EvalPlan:  # noqa: B008
    request = EvalRequest("ada/wordle", **flags)
    return make_plan(request, HUB, defaults, model="m", endpoint="http://localhost:8000/v1")


def test_without_flags_it_is_what_vf_eval_does() -> None:
    made = plan()
    assert (made.num_examples, made.rollouts_per_example, made.concurrency) == (5, 3, 32)
    assert made.sampling == {}


def test_the_environment_s_own_defaults_come_before_those() -> None:
    made = plan(EvalDefaults(-1, 2, max_tokens=512, temperature=0.7))
    assert (made.num_examples, made.rollouts_per_example) == (-1, 2)
    assert made.sampling == {"max_tokens": 512, "temperature": 0.7}


def test_flags_win_over_the_environment_s_defaults() -> None:
    made = plan(EvalDefaults(10, 2, 512, 0.7), num_examples=1, temperature=0.0)
    assert (made.num_examples, made.rollouts_per_example) == (1, 2)
    assert made.sampling == {"max_tokens": 512, "temperature": 0.0}


def test_sampling_json_wins_over_the_short_flags() -> None:
    made = plan(max_tokens=10, sampling={"max_tokens": 20, "top_p": 0.9})
    assert made.sampling == {"max_tokens": 20, "top_p": 0.9}


@pytest.mark.parametrize(
    "flags",
    [
        {"num_examples": 0},
        {"num_examples": -2},
        {"rollouts_per_example": 0},
        {"max_concurrent": 0},
        {"max_error_rate": 1.5},
    ],
)
def test_invalid_numbers_are_refused(flags: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=str(next(iter(flags.values())))):
        plan(**flags)


@pytest.mark.parametrize(("n", "planned"), [(None, 4), (-1, 4), (2, 2), (9, 4)])
def test_chosen_examples_are_all_of_them_unless_n_takes_fewer(n: int | None, planned: int) -> None:
    made = plan(EvalDefaults(50, 2), examples="20,3,5-6", num_examples=n)
    assert (made.num_examples, made.option("examples")) == (planned, "3,5-6,20")
    assert made.example_numbers == frozenset({3, 5, 6, 20})
    assert ("Examples", "3,5-6,20") in made.lines()


def test_broken_json_names_the_flag_and_the_place() -> None:
    with pytest.raises(UsageError, match=r"`-a/--env-args` is not JSON: .* at character 7"):
        parse_object('{"x": }', "-a/--env-args")


@pytest.mark.parametrize("text", ["[1]", '"x"', "3", "null", "true"])
def test_json_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be a JSON object"):
        parse_object(text, "-S/--sampling-args")


def test_names_may_be_repeated_or_separated_by_commas() -> None:
    assert parse_names(["a,b", " c "]) == ("a", "b", "c")


def test_declared_values_of_the_wrong_type_are_ignored() -> None:
    table = {"num_examples": "many", "rollouts_per_example": True, "temperature": 1}
    assert defaults_from(table) == EvalDefaults(temperature=1.0)


def test_the_plan_says_what_will_be_done() -> None:
    lines = dict(plan(EvalDefaults(num_examples=-1), env_args={"x": 1}).lines())
    assert lines["Environment"] == "ada/wordle@1.2"
    assert lines["Rollouts"] == "all examples x 3"
    assert lines["Arguments"] == '{"x":1}'
