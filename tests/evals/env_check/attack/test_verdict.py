"""What is made of a verdict: lines for people, a gate, and what a training is told."""

import pytest

from prime_cli.core.errors import GateFailed
from prime_cli.evals.env_check.attack.known import doubts_of, keep_verdict
from prime_cli.evals.env_check.attack.verdict import check_attack, check_sources
from prime_cli.evals.env_check.findings import passed, require_holding
from prime_cli.runs.plan import RunEnvironment
from prime_cli.wire.check_reports import (
    Attack,
    AttackReport,
    CheckReport,
    SourceFinding,
    Verdict,
    in_words,
    summarize,
    told_of,
)
from prime_cli.wire.codec import decode, encode
from tests.helpers.live_run import PLAN

LEAK = Attack(
    name="refusal",
    outcome="leaks",
    sentence="It pays for a refusal",
    examples=20,
    paid=20,
    paid_interval=(0.83, 1.0),
    rule="right",
    file="env.py",
    line=7,
)


def attack_report(verdict: Verdict, *attacks: Attack) -> AttackReport:
    found = SourceFinding("eval", "env.py", 3, "`eval` runs what a text says")
    return AttackReport(
        verdict=verdict, reason="why", examples=20, calls=9, attacks=attacks, sources=(found,)
    )


def report(attack: AttackReport | None) -> CheckReport:
    return CheckReport(
        environment="tiny@0.1.0",
        wheel_sha256=None,
        verdict="pass",
        checks=(passed("build", "built"),),
        date="2026-11-29T00:00:00+00:00",
        prime="0.1.0",
        attack=attack,
    )


def test_a_report_survives_the_wire_and_its_summary_has_the_verdict() -> None:
    whole = report(attack_report("leaks", LEAK))
    assert decode(encode(whole), CheckReport) == whole
    assert in_words(summarize(whole)) == "passed 1, attack: leaks"
    assert in_words(summarize(report(None))) == "passed 1"


def test_each_leak_is_told_with_the_line_of_its_reward() -> None:
    lines = list(told_of(attack_report("leaks", LEAK)))
    assert lines[0] == "attack refusal leaks: It pays for a refusal (by `right` in env.py:7)"
    assert lines[1] == "source eval: `eval` runs what a text says, in env.py:3"


@pytest.mark.parametrize(
    ("verdict", "status"), [("holds", "pass"), ("leaks", "fail"), ("unknown", "warn")]
)
def test_a_verdict_is_a_check(verdict: Verdict, status: str) -> None:
    assert check_attack(attack_report(verdict)).status == status
    assert check_sources(attack_report(verdict)).status == "warn"


def test_an_attack_that_crashes_rewards_that_hold_is_a_warning() -> None:
    crashed = Attack(name="empty", outcome="crashes", sentence="IndexError")
    assert check_attack(attack_report("holds", crashed)).status == "warn"


@pytest.mark.parametrize("attack", [None, attack_report("unknown"), attack_report("leaks")])
def test_only_rewards_that_hold_pass_the_gate(attack: AttackReport | None) -> None:
    require_holding(report(attack_report("holds")))
    with pytest.raises(GateFailed, match="do not hold"):
        require_holding(report(attack))


def test_a_training_is_told_of_rewards_that_were_not_attacked_or_did_not_hold() -> None:
    environment: RunEnvironment = PLAN.environment
    assert "never attacked here" in (doubts_of(environment) or "")
    keep_verdict(environment.sha256, "leaks")
    assert (doubts_of(environment) or "").startswith("they leak")
    keep_verdict(environment.sha256, "holds")
    assert doubts_of(environment) is None


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (None, "never attacked here: try"),
        (attack_report("holds"), "they held, by its publisher's report: try"),
        (attack_report("leaks"), "they leak, by its publisher's report: try"),
        (attack_report("unknown"), "they may leak, by its publisher's report: try"),
    ],
)
def test_without_an_attack_here_the_report_of_the_publisher_is_told(
    attack: AttackReport | None, told: str
) -> None:
    assert (doubts_of(PLAN.environment, summarize(report(attack))) or "").startswith(told)
    keep_verdict(PLAN.environment.sha256, "holds")
    assert doubts_of(PLAN.environment, summarize(report(attack))) is None
