"""Delete a key here, and revoke it on hubs that can."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from prime_cli.api.accounts import KEYS_FEATURE
from prime_cli.core.config import Config
from prime_cli.core.config.contexts import read_table
from prime_cli.core.config.edit import unset_value
from prime_cli.core.credentials import read_entries, remove_credential
from prime_cli.core.errors import Conflict, NotAllowed, NotLoggedIn, PrimeError
from prime_cli.wire.invitations import SIGN_UP_KEY

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

MADE_BY_LOGIN = "login from "
"""How our hubs begin the names of keys created by browser logins."""


class RevocationResult(StrEnum):
    """What became of the key on the hub."""

    REVOKED = "revoked"
    UNKNOWN = "unknown"
    KEPT = "kept"
    CANNOT = "cannot"
    FAILED = "failed"


@dataclass(frozen=True)
class LogoutResult:
    """A context whose key was deleted; `problem` says why it could not be revoked."""

    context: str
    fate: RevocationResult
    problem: str | None = None
    was_current: bool = False


def contexts_with_keys(config: Config) -> list[str]:
    """The contexts with a key stored on this machine."""
    return list(read_entries(config.home.value))


def revoke(hub: "HubClient", *, wanted: bool | None) -> tuple[RevocationResult, str | None]:
    """Revoke the key that `hub` sends; returns its fate, and why revoking failed.

    `wanted` None revokes a key created by a login, and leaves one that was handed out: others may
    use it too. If it is True, every failure is raised.
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
        hub.accounts.revoke_key("current")
    except NotLoggedIn:
        return RevocationResult.UNKNOWN, None
    except PrimeError as error:
        if wanted:
            raise
        return RevocationResult.FAILED, error.message
    return RevocationResult.REVOKED, None


def require_way_back(hub: "HubClient") -> None:
    """Raise Conflict for the key of a sign-up that is the user's only one: a login needs another.

    What fails here is left to `revoke`.
    """
    try:
        keys = hub.accounts.keys() if KEYS_FEATURE in hub.capabilities().features else []
    except PrimeError:
        return
    if len(keys) == 1 and keys[0].current and keys[0].name.startswith(SIGN_UP_KEY):
        raise Conflict(
            f"This is your only key to {hub.host}: without it you cannot log in again",
            hint="create another and store it: `prime keys create --name spare --scope admin`; "
            "or give it up with `--keep-key` or `--revoke`",
        )


def forget_key(config: Config, context: str) -> bool:
    """Delete the key of `context` from this machine; returns whether the context was current.

    The `local` hub then becomes current. Raises StorageFailed if a keyring does not release it.
    """
    remove_credential(config.home.value, context)
    was_current = read_table(config.file).get("context") == context
    if was_current:
        unset_value(config.file, "context")
    return was_current
