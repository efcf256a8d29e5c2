"""The report of a check of one wheel, as printed and as stored by hubs. Our own format."""

from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

SCHEMA = 1

Status = Literal["pass", "warn", "fail", "skip"]

_Id = Annotated[str, Meta(pattern=r"^[a-z][a-z-]{0,30}$")]
_Sentence = Annotated[str, Meta(max_length=500)]
_Word = Annotated[str, Meta(max_length=200)]
_Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
_Count = Annotated[int, Meta(ge=0, le=10**9)]


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """One check: `sentence` is the finding, `evidence` its numbers, `step` what to do."""

    id: _Id
    status: Status
    sentence: _Sentence
    evidence: dict[_Word, Any] = {}
    step: _Sentence | None = None


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of an environment found.

    `environment` is `owner/name@version`, or `name@version` if it is only local; `examples` is how
    many were run, `fingerprint` the sha256 of all examples that were read; `date` is ISO 8601 with
    zone. A field is None if the environment could not be run.
    """

    schema: int = SCHEMA
    environment: _Word
    wheel_sha256: _Sha256 | None
    verdict: Literal["pass", "warn", "fail"]
    checks: Annotated[tuple[Check, ...], Meta(min_length=1, max_length=64)]
    date: _Word
    prime: _Word
    python: _Word | None = None
    verifiers: _Word | None = None
    generation: Literal["v0", "v1"] | None = None
    examples: _Count = 0
    fingerprint: _Sha256 | None = None


class CheckSummary(msgspec.Struct, frozen=True):
    """The number of checks by status."""

    verdict: Literal["pass", "warn", "fail"]
    passed: _Count
    warned: _Count
    failed: _Count
    skipped: _Count
    date: _Word


def verdict_of(checks: tuple[Check, ...]) -> Literal["pass", "warn", "fail"]:
    """The worst status, ignoring skipped checks."""
    found = {check.status for check in checks}
    return "fail" if "fail" in found else "warn" if "warn" in found else "pass"


def summarize(report: CheckReport) -> CheckSummary:
    """A report in short."""
    counts = Counter(check.status for check in report.checks)
    return CheckSummary(
        verdict=verdict_of(report.checks),
        passed=counts["pass"],
        warned=counts["warn"],
        failed=counts["fail"],
        skipped=counts["skip"],
        date=report.date,
    )


def in_words(summary: CheckSummary) -> str:
    """`passed 12, warned 1`, without zeros."""
    counts = {
        "passed": summary.passed,
        "warned": summary.warned,
        "failed": summary.failed,
        "skipped": summary.skipped,
    }
    return ", ".join(f"{word} {count}" for word, count in counts.items() if count)
