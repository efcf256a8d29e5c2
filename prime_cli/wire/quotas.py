"""Quotas of users and teams: `/hub/quotas` for admins, `/user/quotas` for everybody."""

import re

import msgspec

from prime_cli.core.errors import UsageError

QUOTA_KINDS = ("storage", "pods", "tokens", "sandboxes")
UNLIMITED = -1
UNLIMITED_TEXT = "unlimited"

_AMOUNT = re.compile(r"([0-9]{1,18})(B|kB|MB|GB|TB)?")
_UNITS = {None: 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_quota(kind: str, text: str) -> int:
    """A quota as people write it: `10`, `500MB` for storage, `unlimited`; raises UsageError."""
    if text == UNLIMITED_TEXT:
        return UNLIMITED
    found = _AMOUNT.fullmatch(text)
    if found is None or (found[2] and kind != "storage"):
        example = "500MB" if kind == "storage" else "10"
        raise UsageError(
            f"`--{kind}`: `{text[:80]}` is not a quota",
            hint=f"write it as {example}, {UNLIMITED_TEXT} or default",
        )
    return int(found[1]) * _UNITS[found[2]]


class Amounts(msgspec.Struct):
    """Bytes of published files, live pods, tokens of models in this month, and live sandboxes."""

    storage: int | None = None
    pods: int | None = None
    tokens: int | None = None
    sandboxes: int | None = None


class NewQuota(Amounts, omit_defaults=True, forbid_unknown_fields=True):
    """`PUT /hub/quotas`: of a user or team, by default what all others have.

    UNLIMITED is as much as wanted. What is not given stays, and what `reset` names is as for all.
    """

    owner: str | None = None
    reset: list[str] = []


class Quota(msgspec.Struct):
    """What an owner may have, and has; null is no limit. `own` names what is not as for all.

    Without an `owner` it is what all may have.
    """

    owner: str | None = None
    limits: Amounts = msgspec.field(default_factory=Amounts)
    used: Amounts = msgspec.field(default_factory=Amounts)
    own: list[str] = []


class QuotaList(msgspec.Struct):
    """`GET /hub/quotas`: what all may have first, then users and teams by name.

    `GET /user/quotas` has the caller's own and those of its teams alone.
    """

    quotas: list[Quota]
