"""Forgetting a key here, and making it worth nothing on a hub that can."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from prime_cli.api.accounts import KEYS_FEATURE
from prime_cli.core.config import Config
from prime_cli.core.config.contexts import read_table
from prime_cli.core.config.edit import unset_value
from prime_cli.core.credentials import read_entries, remove_credential
from prime_cli.core.errors import NotAllowed, NotLoggedIn, PrimeError

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

MADE_BY_LOGIN = "login from "
"""How hubs of ours begin the names of keys that were made for a login by browser."""


class RevocationResult(StrEnum):
    """What became of the key on the hub."""

    REVOKED = "revoked"
    UNKNOWN = "unknown"
    KEPT = "kept"
    CANNOT = "cannot"
    FAILED = "failed"


@dataclass(frozen=True)
class LogoutResult:
    """A context whose key is forgotten; `problem` says why it could not be revoked."""

    context: str
    fate: RevocationResult
    problem: str | None = None
    was_current: bool = False


def contexts_with_keys(config: Config) -> list[str]:
    """The contexts for which a key is kept on this machine."""
    return list(read_entries(config.home.value))


def revoke(hub: "HubClient", *, wanted: bool | None) -> tuple[RevocationResult, str | None]:
    """Make the key that `hub` is asked with worth nothing; its fate, and why it failed.

    `wanted` None revokes what was made by a login, and leaves a key that somebody was given:
    others may use it too. Where it is True, every failure is raised.
    """
    if wanted is False:
        return RevocationResult.KEPT, None
    try:
        if KEYS_FEATURE not in hub.capabilities().features:
            if wanted:
                raise NotAllowed(
                    f"{hub.host} does not let keys revoke themselves",
                    hint="revoke it on the hub's pages, then log out with `--keep-key`",
                )
            return RevocationResult.CANNOT, None
        if wanted is None:
            current = hub.accounts.current_key()
            if current is None or not current.name.startswith(MADE_BY_LOGIN):
                return RevocationResult.KEPT, None
        hub.accounts.revoke_current_key()
    except NotLoggedIn:
        return RevocationResult.UNKNOWN, None
    except PrimeError as error:
        if wanted:
            raise
        return RevocationResult.FAILED, error.message
    return RevocationResult.REVOKED, None


def forget_key(config: Config, context: str) -> bool:
    """Take the key of `context` from this machine; whether the context was the current one.

    The `local` hub is current then. Raises StorageFailed where a keyring does not let it go.
    """
    remove_credential(config.home.value, context)
    was_current = read_table(config.file).get("context") == context
    if was_current:
        unset_value(config.file, "context")
    return was_current
