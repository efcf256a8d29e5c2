"""Deadlines as they are written, kept and passed on to a worker."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.execution.worker_spec import make_spec
from prime_cli.evals.planning.request import parse_deadlines
from prime_cli.runs.plan import DEFAULTS, Deadlines, span_text
from tests.evals.live import PLAN, interpreter_in


def test_they_are_spans_or_seconds() -> None:
    assert parse_deadlines("10m", "90", None) == Deadlines(600, 90, None)
    assert parse_deadlines(None, None, " 2h ") == Deadlines(rollout=7200)


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5h", "0", "0s"])
def test_what_is_no_span_is_refused_with_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match="--score-timeout"):
        parse_deadlines(None, text, None)


def test_a_resume_keeps_what_is_not_asked_for_anew() -> None:
    assert Deadlines(call=5).over(Deadlines(9, 8, 7)) == Deadlines(5, 8, 7)


def test_the_worker_is_told() -> None:
    plan = msgspec.structs.replace(PLAN, deadlines=Deadlines(scoring=90, rollout=300))
    spec = make_spec(plan, interpreter_in(Path()), "http://x/v1", "t")
    assert (spec.timeout_s, spec.score_s, spec.blocked_s) == (300, 90, 90)
    spec = make_spec(PLAN, interpreter_in(Path()), "http://x/v1", "t")
    assert (spec.timeout_s, spec.score_s, spec.blocked_s) == (21600, 3600, 600)


def test_a_plan_shows_them() -> None:
    assert ("Deadlines", "call 30m, scoring 1h, rollout 6h") in PLAN.lines()
    assert str(DEFAULTS) == "call 30m, scoring 1h, rollout 6h"
    assert [span_text(n) for n in (1, 90, 3600, 90000)] == ["1s", "90s", "1h", "25h"]
