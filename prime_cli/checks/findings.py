"""What a check came to: one sentence, and what to do about it."""

from typing import Literal

import msgspec

Status = Literal["ok", "warning", "failed", "skipped"]


class Finding(msgspec.Struct, frozen=True):
    """One line of `prime doctor`; `fix` is the next step where something is to be done.

    `failed` is what keeps commands from working, `warning` what may, `skipped` what could not be
    looked at. No sentence ever holds a key.
    """

    name: str
    status: Status
    sentence: str
    fix: str | None = None


def ok(name: str, sentence: str) -> Finding:
    """Nothing is to be done."""
    return Finding(name, "ok", sentence)


def warned(name: str, sentence: str, fix: str) -> Finding:
    """Something that some commands will stumble over."""
    return Finding(name, "warning", sentence, fix)


def failed(name: str, sentence: str, fix: str) -> Finding:
    """Something that commands fail by."""
    return Finding(name, "failed", sentence, fix)


def skipped(name: str, sentence: str) -> Finding:
    """Something that cannot be looked at here, and why."""
    return Finding(name, "skipped", sentence)


def worst(findings: list[Finding]) -> Status:
    """`failed` where anything failed, else `warning` where anything was warned of, else `ok`."""
    found = {finding.status for finding in findings}
    return "failed" if "failed" in found else "warning" if "warning" in found else "ok"
