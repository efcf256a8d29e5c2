"""Which rollout a model call belongs to, and what part the model plays in it."""

import re
from collections.abc import Mapping
from typing import NamedTuple

POLICY = "policy"
UNATTRIBUTED = "unattributed"

_PREFIX = re.compile(r"/r/(\d{1,12})\.(\d{1,9})\.(\d{1,9})(?:\.([a-z][a-z0-9-]{0,30}))?(?=/)")
_NUMBER = re.compile(r"[0-9]{1,12}")
_ROLE = re.compile(r"[a-z][a-z0-9-]{0,30}")


class Identity(NamedTuple):
    """Example index, rollout and attempt of a call; None where the call does not say."""

    example: int | None = None
    rollout: int | None = None
    attempt: int | None = None
    role: str = UNATTRIBUTED


def read_identity(path: str, headers: Mapping[str, str]) -> tuple[Identity, str]:
    """The identity of a call, and its path without the prefix that may carry it.

    `/r/<example>.<rollout>.<attempt>[.<role>]/v1/…`, else the headers X-Prime-Example, -Rollout,
    -Attempt and -Role. A rollout's call is its policy's unless it names another role. A call that
    names no rollout, or one that cannot be read, is unattributed: never guessed.
    """
    named = headers.get("X-Prime-Role", "")
    role = named if _ROLE.fullmatch(named) else None
    if match := _PREFIX.match(path):
        example, rollout, attempt = (int(part) for part in match.group(1, 2, 3))
        identity = Identity(example, rollout, attempt, match.group(4) or role or POLICY)
        return identity, path[match.end() :]
    parts = [headers.get(f"X-Prime-{part}", "") for part in ("Example", "Rollout", "Attempt")]
    if all(_NUMBER.fullmatch(part) for part in parts):
        example, rollout, attempt = (int(part) for part in parts)
        return Identity(example, rollout, attempt, role or POLICY), path
    return Identity(role=role if role and role != POLICY else UNATTRIBUTED), path
