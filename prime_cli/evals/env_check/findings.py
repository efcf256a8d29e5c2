"""The result of a check as a sentence that is safe for terminals, pages and hubs."""

import math
from collections.abc import Iterable
from typing import Any

from prime_cli.core.errors import GateFailed
from prime_cli.core.formatting import join_words
from prime_cli.wire.check_reports import Check, CheckReport, Status

_LONGEST_SENTENCE = 400
_MOST_NAMED = 10


def passed(name: str, sentence: str, **evidence: Any) -> Check:
    """A check that found nothing wrong."""
    return _check(name, "pass", sentence, None, evidence)


def warned(name: str, sentence: str, step: str, **evidence: Any) -> Check:
    """A check that found something that may be intended."""
    return _check(name, "warn", sentence, step, evidence)


def failed(name: str, sentence: str, step: str, **evidence: Any) -> Check:
    """A check that found a defect."""
    return _check(name, "fail", sentence, step, evidence)


def skipped(name: str, sentence: str) -> Check:
    """A check that cannot run."""
    return _check(name, "skip", sentence, None, {})


def _check(
    name: str, status: Status, sentence: str, step: str | None, evidence: dict[str, Any]
) -> Check:
    kept = {key: _bounded(value) for key, value in evidence.items() if value is not None}
    return Check(name, status, clip(sentence), kept, None if step is None else clip(step))


def clip(text: str) -> str:
    """`text` on one line, shortened and without control characters: others may have written it."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST_SENTENCE else line[: _LONGEST_SENTENCE - 1] + "…"


def named(examples: Iterable[int]) -> str:
    """`example 3` or `examples 0, 2 and 5`, the first few of them."""
    found = [str(example) for example in dict.fromkeys(examples)]
    return f"example{'s' if len(found) > 1 else ''} {join_words(found, _MOST_NAMED)}"


def mean(values: Iterable[float]) -> float:
    """The mean of at least one value."""
    found = list(values)
    return math.fsum(found) / len(found)


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return clip(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else 0.0
    if isinstance(value, dict):
        return {clip(str(key)): _bounded(item) for key, item in list(value.items())[:_MOST_NAMED]}
    if isinstance(value, list | tuple):
        return [_bounded(item) for item in value[:_MOST_NAMED]]
    return value


def require_holding(report: CheckReport) -> None:
    """Raise GateFailed unless the rewards held every attack."""
    found = report.attack
    if found is None or found.verdict != "holds":
        verdict, why = (
            ("unknown", "it was not attacked") if found is None else (found.verdict, found.reason)
        )
        raise GateFailed(
            f"The rewards of {report.environment} do not hold (verdict: {verdict}): {why}",
            hint="see each attack with `prime env check --attack`",
        )


def require_passed(report: CheckReport, *, strict: bool = False) -> None:
    """Raise GateFailed that names the checks that failed, or with `strict` warned."""
    bad = ("fail", "warn") if strict else ("fail",)
    names = [check.id for check in report.checks if check.status in bad]
    if names:
        plural = "checks" if len(names) > 1 else "check"
        raise GateFailed(
            f"{report.environment} does not pass {len(names)} {plural}: {', '.join(names)}",
            hint="docs/environments.md describes each check",
        )
