"""What may change under a resume, and how a refusal reads."""

from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.evals.resume.compatibility import (
    MAY_CHANGE,
    require_same,
    require_same_harness,
    require_same_packages,
)
from prime_cli.runs.manifest import InterpreterFacts, RunManifest
from prime_cli.runs.plan import EvalPlan
from tests.runs.saving import PLAN

FACTS = InterpreterFacts("3.11.7", "0.1.14", "v0", digest="aa", lock_digest="ab" * 32)


def changed(**fields: Any) -> EvalPlan:
    return msgspec.structs.replace(PLAN, **fields)


def before(plan: EvalPlan = PLAN, **fields: Any) -> RunManifest:
    told = {"started": "2026-01-01T00:00:00+00:00", "interpreter": FACTS} | fields
    return RunManifest(run_id="1f2e3d4c", plan=plan, **told)  # type: ignore[arg-type]


def refusal(manifest: RunManifest, plan: EvalPlan) -> list[str]:
    with pytest.raises(Conflict, match="1f2e3d4c cannot be resumed") as raised:
        require_same(manifest, plan)
    assert raised.value.exit_code == 7
    return (raised.value.detail or "").splitlines()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"concurrency": 1, "max_retries": 4, "max_error_rate": 0.5},
        {"max_cost": 3.0, "token_budget": 1000, "sandbox": True, "allow_net": True},
        {"num_examples": 9, "rollouts_per_example": 3},
        {"num_examples": -1},
    ],
)
def test_what_cannot_change_a_score_may_change_and_a_run_may_grow(fields: dict[str, Any]) -> None:
    require_same(before(), changed(**fields))


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"model": "other"}, ["model: was org/model, now other"]),
        (
            {"endpoint": "http://x/v1"},
            ["endpoint: was http://localhost:8000/v1, now http://x/v1"],
        ),
        (
            {"sampling": {"temperature": 0.5, "top_p": 1}},
            ["sampling.temperature: was unset, now 0.5", "sampling.top_p: was unset, now 1"],
        ),
        ({"env_args": {"level": "hard"}}, ["env_args.level: was unset, now hard"]),
        ({"independent_scoring": True}, ["independent_scoring: was false, now true"]),
        ({"seed": 3}, ["seed: was unset, now 3"]),
        ({"env_vars": ("JUDGE_KEY",)}, ["env_vars: was unset, now JUDGE_KEY"]),
        ({"num_examples": 1}, ["num_examples: was 2, now 1"]),
        ({"rollouts_per_example": 1}, ["rollouts_per_example: was 2, now 1"]),
    ],
)
def test_what_would_change_scores_is_refused_with_what_it_was(
    fields: dict[str, Any], lines: list[str]
) -> None:
    assert refusal(before(), changed(**fields)) == lines


def test_another_content_of_the_environment_is_refused() -> None:
    other = msgspec.structs.replace(PLAN.environment, sha256="cd" * 32, version="1.3", ref=None)
    assert refusal(before(), changed(environment=other)) == [
        "environment: was ada/wordle@1.2, now wordle@1.3",
        "sha256: was abababababab, now cdcdcdcdcdcd",
    ]


def test_the_same_content_may_come_from_elsewhere() -> None:
    moved = msgspec.structs.replace(PLAN.environment, ref=None, path="/elsewhere")
    require_same(before(), changed(environment=moved))


def test_all_examples_are_as_many_as_there_were() -> None:
    all_of_it = before(changed(num_examples=-1), examples=10)
    require_same(all_of_it, changed(num_examples=10))
    assert refusal(all_of_it, changed(num_examples=9)) == ["num_examples: was 10, now 9"]
    few = before(changed(num_examples=20), examples=10)
    require_same(few, changed(num_examples=10))


def test_a_header_must_be_given_again_and_its_value_may_change() -> None:
    sent = changed(headers=("X-Team",))
    require_same(before(sent), sent)
    with pytest.raises(UsageError, match="sent X-Team"):
        require_same(before(sent), PLAN)


def test_every_field_of_a_plan_is_compared_unless_it_is_named() -> None:
    assert {*PLAN.__struct_fields__, "deadlines"} >= MAY_CHANGE


def test_other_packages_are_refused() -> None:
    require_same_packages(before(), FACTS)
    patched = msgspec.structs.replace(FACTS, python="3.11.9", digest="bb")
    require_same_packages(before(), patched)
    other = msgspec.structs.replace(FACTS, verifiers="0.1.13", lock_digest="cd" * 32)
    with pytest.raises(Conflict) as raised:
        require_same_packages(before(), other)
    assert (raised.value.detail or "").splitlines() == [
        "verifiers: was 0.1.14, now 0.1.13",
        "packages: was abababababab, now cdcdcdcdcdcd",
    ]


@pytest.mark.parametrize("was", [None, "null, in-process", "in-process"])
def test_the_same_harness_continues(was: str | None) -> None:
    """`in-process` is what earlier releases called it."""
    require_same_harness(msgspec.structs.replace(before(), harness=was), "null, in-process")


def test_another_harness_is_refused() -> None:
    was = msgspec.structs.replace(before(), harness="in-process")
    with pytest.raises(Conflict) as refused:
        require_same_harness(was, "bash, subprocess")
    assert refused.value.detail == "harness: was null, in-process, now bash, subprocess"
