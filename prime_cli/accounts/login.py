"""Log in: try the key, and only then write anything."""

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prime_cli.accounts.contexts import LoginTarget
from prime_cli.accounts.logout import revoke
from prime_cli.accounts.teams import has_team, list_teams, save_team
from prime_cli.core.config import Config
from prime_cli.core.config.edit import save_context, use_context
from prime_cli.core.credentials import KeyStorage, StoredKey, save_credential
from prime_cli.core.errors import NotLoggedIn, PrimeError
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.wire.accounts import Account, Team

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class LoginResult:
    """The outcome of a login: who, where, and what became of the key.

    `teams` are those of the user, None if the hub does not say. `left` is the context's former
    team, removed because the user is not (or no longer) in it.
    """

    target: LoginTarget
    account: Account
    kept: StoredKey
    teams: tuple[Team, ...] | None = None
    left: str | None = None

    @property
    def team(self) -> str | None:
        """The team that the context now works for."""
        return None if self.left else self.target.team


def log_in(
    config: Config,
    target: LoginTarget,
    hub: "HubClient",
    key: str,
    storage: KeyStorage,
    *,
    is_new: bool = False,
) -> LoginResult:
    """Try `key` (which `hub` sends), store it, and make its context the current one.

    A key that `is_new`, created for this login, is revoked if it cannot be stored: nobody else has
    it. Raises NotLoggedIn for a key that the hub does not know, UsageError for a config.toml that
    cannot be edited, StorageFailed.
    """
    account = _try_key(hub)
    try:
        kept = _keep(config, target, key, storage)
    except PrimeError:
        if is_new:
            revoke(hub, wanted=None)
        raise
    teams = _teams_of(hub)
    if target.team is None or teams is None or has_team(teams, target.team):
        return LoginResult(target, account, kept, teams)
    save_team(config.file, target.name, None)
    return LoginResult(target, account, kept, teams, left=target.team)


def require_storage(config: Config) -> None:
    """Raise StorageFailed early if nothing could be stored, before anybody approves anything."""
    home = make_folder(config.home.value)
    with storage_errors(home), tempfile.TemporaryFile(dir=home):
        pass


def _try_key(hub: "HubClient") -> Account:
    """The owner of the key that `hub` sends; raises NotLoggedIn for an unknown key."""
    try:
        return hub.accounts.whoami()
    except NotLoggedIn as error:
        raise NotLoggedIn(
            f"{hub.host} does not accept this key; nothing was saved",
            hint="paste this hub's complete key, on one line",
        ) from error


def _keep(config: Config, target: LoginTarget, key: str, storage: KeyStorage) -> StoredKey:
    """Write the context and the key, and make the context current."""
    if not target.known:
        web_url = target.web_url if target.web_url != target.base_url else None
        save_context(config.file, target.name, {"base_url": target.base_url, "web_url": web_url})
    kept = save_credential(config.home.value, target.name, target.base_url, key, storage)
    use_context(config.file, target.name)
    return kept


def _teams_of(hub: "HubClient") -> tuple[Team, ...] | None:
    """None if the hub does not say: the login succeeds without them."""
    try:
        return tuple(list_teams(hub))
    except PrimeError:
        return None


def publisher_name(account: Account) -> str:
    """The name that the user publishes under, or the nearest the hub gives."""
    return account.slug or account.name or account.id
