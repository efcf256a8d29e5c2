"""The report of a check of one wheel, as printed and as stored by hubs. Our own format."""

from collections import Counter
from collections.abc import Iterator
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


Share = tuple[float, float]

Verdict = Literal["holds", "leaks", "unknown"]

Outcome = Literal["holds", "leaks", "unclear", "crashes", "endless", "skipped"]


class Attack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one strategy of `prime env check --attack` was paid.

    `examples` are those on which its answer was wrong by construction and got a reward, `paid`
    those with nearly the gold answer's reward or more, of all which `paid_interval` (95 %) is.
    `reward` is the mean with its 95 % `interval`, `gold` that of the gold answers of the same
    examples, `margin` the first minus the second. `rule` is the reward function that gave the most,
    in `line` of `file`; of a strategy that crashes, the line that raised. `answer` is one that was
    paid.
    """

    name: _Id
    outcome: Outcome
    sentence: _Sentence
    examples: _Count = 0
    paid: _Count = 0
    paid_interval: Share | None = None
    reward: float | None = None
    interval: Share | None = None
    gold: float | None = None
    margin: float | None = None
    rule: _Word | None = None
    file: _Word | None = None
    line: _Count | None = None
    answer: _Sentence | None = None


class SourceFinding(msgspec.Struct, frozen=True):
    """What the source shows without running it, in `line` of `file`."""

    rule: _Id
    file: _Word
    line: _Count
    sentence: _Sentence


class AttackReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a panel of attacks on a wheel's rewards, and the `reason` for it.

    `calls` counts the answers that were given, those of the gold ones and of the search included.
    """

    verdict: Verdict
    reason: _Sentence
    examples: _Count
    calls: _Count
    attacks: Annotated[tuple[Attack, ...], Meta(max_length=64)] = ()
    sources: Annotated[tuple[SourceFinding, ...], Meta(max_length=50)] = ()


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of an environment found, and with `--attack` what its `attack` found.

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
    attack: AttackReport | None = None


class CheckSummary(msgspec.Struct, frozen=True):
    """The number of checks by status, and the verdict of an attack if there was one."""

    verdict: Literal["pass", "warn", "fail"]
    passed: _Count
    warned: _Count
    failed: _Count
    skipped: _Count
    date: _Word
    attack: Verdict | None = None


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
        attack=report.attack.verdict if report.attack else None,
    )


def in_words(summary: CheckSummary) -> str:
    """`passed 12, warned 1`, without zeros."""
    counts = {
        "passed": summary.passed,
        "warned": summary.warned,
        "failed": summary.failed,
        "skipped": summary.skipped,
    }
    words = [f"{word} {count}" for word, count in counts.items() if count]
    return ", ".join([*words, *([f"attack: {summary.attack}"] if summary.attack else [])])


_FOUND = ("leaks", "unclear", "crashes", "endless")


def told_of(report: AttackReport) -> Iterator[str]:
    """A line for each attack that found something, and for each finding in the source."""
    for each in report.attacks:
        if each.outcome in _FOUND:
            rule = f" `{each.rule}`" if each.rule else ""
            place = f" in {each.file}:{each.line}" if each.file else ""
            by = f" (by{rule}{place})" if rule or place else ""
            yield f"attack {each.name} {each.outcome}: {each.sentence}{by}"
    for found in report.sources:
        yield f"source {found.rule}: {found.sentence}, in {found.file}:{found.line}"
