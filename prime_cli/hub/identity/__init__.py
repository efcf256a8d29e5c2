"""Users and CI jobs that an OpenID Connect provider vouches for (OpenID Connect Core 1.0)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Fetch(Protocol):
    """One HTTP request to a provider: POST with a `form`, else GET; no redirect is followed.

    Raises Unreachable, also for an answer that is too large or too slow.
    """

    def __call__(
        self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """The status and the body."""


@dataclass(frozen=True)
class SignInSettings:
    """The provider that users sign in with, and who may.

    `name` is what the page calls it. With `domains` only users with a verified address in one of
    them may sign in, with `groups` only those whose claim `groups` has one of them. `username` is
    the claim that new users are named after. Without `sign_up` only known users may sign in. Keys
    of logins end after `key_days`, 0 for never.
    """

    issuer: str
    client_id: str
    name: str
    client_secret: str | None = field(default=None, repr=False)
    domains: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    username: str = "preferred_username"
    sign_up: bool = True
    key_days: int = 0
