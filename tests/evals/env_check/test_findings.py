from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import GateFailed
from prime_cli.evals.env_check.findings import (
    clip,
    failed,
    named,
    passed,
    require_passed,
    skipped,
    warned,
)
from prime_cli.wire.check_reports import Check, CheckReport, verdict_of
from prime_cli.wire.codec import decode, encode


@pytest.mark.parametrize(
    ("examples", "words"),
    [
        ([3], "example 3"),
        ([0, 2], "examples 0 and 2"),
        ([0, 0, 2, 5], "examples 0, 2 and 5"),
        (range(12), "examples 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
    ],
)
def test_the_first_few_examples_are_named(examples: Any, words: str) -> None:
    assert named(examples) == words


@given(st.text(), st.dictionaries(st.text(max_size=300), st.text() | st.floats() | st.integers()))
def test_whatever_an_environment_says_becomes_a_check_that_a_hub_takes(
    text: str, found: dict[str, Any]
) -> None:
    check = failed("errors", text, text, found=found)
    assert decode(encode(check), Check) == check
    assert check.sentence.isprintable()


def test_texts_are_kept_on_one_line_and_short() -> None:
    assert clip("a\n\x1b[31m b") == "a [31m b"
    assert len(clip("x" * 1000)) == 400


def report(*checks: Check) -> CheckReport:
    return CheckReport(
        environment="tiny@0.1.0",
        wheel_sha256=None,
        verdict=verdict_of(checks),
        checks=checks,
        date="2026-01-02T03:04:05+00:00",
        prime="0.1.0",
    )


def test_a_failed_check_is_a_gate_and_a_warning_only_a_strict_one() -> None:
    good, odd, bad = passed("build", "x"), warned("leaks", "x", "y"), failed("gold", "x", "y")
    require_passed(report(good, skipped("load", "x")), strict=True)
    require_passed(report(good, odd))
    with pytest.raises(GateFailed, match="1 check: leaks"):
        require_passed(report(good, odd), strict=True)
    with pytest.raises(GateFailed, match="1 check: gold"):
        require_passed(report(good, odd, bad))
    with pytest.raises(GateFailed, match="2 checks: leaks, gold"):
        require_passed(report(good, odd, bad), strict=True)
