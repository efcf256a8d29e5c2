"""Keeping a login: the key is tried, and only then is anything written."""

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prime_cli.accounts.targets import Target
from prime_cli.core.config import Config
from prime_cli.core.config.editing import save_context, use_context
from prime_cli.core.credentials import Kept, Storage, save_credential
from prime_cli.core.errors import NotLoggedIn
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.wire.accounts import Account

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class LoggedIn:
    """Who is logged in where, and what became of the key."""

    target: Target
    account: Account
    kept: Kept


def require_storage(config: Config) -> None:
    """Raise StorageFailed where nothing could be kept, before anybody approves anything."""
    home = make_folder(config.home.value)
    with storage_errors(home), tempfile.TemporaryFile(dir=home):
        pass


def try_key(hub: "HubClient") -> Account:
    """Whose key it is that `hub` is asked with; raises NotLoggedIn where it does not know it."""
    try:
        return hub.accounts.whoami()
    except NotLoggedIn as error:
        raise NotLoggedIn(
            f"{hub.host} does not know this key; nothing was kept",
            hint="take the key of this hub, whole and on one line",
        ) from error


def keep_login(
    config: Config, target: Target, account: Account, key: str, storage: Storage
) -> LoggedIn:
    """Write the context and the key, and make the context current.

    Raises UsageError for a config.toml that cannot be edited, StorageFailed.
    """
    if not target.known:
        web_url = target.web_url if target.web_url != target.base_url else None
        save_context(config.file, target.name, {"base_url": target.base_url, "web_url": web_url})
    kept = save_credential(config.home.value, target.name, target.base_url, key, storage)
    use_context(config.file, target.name)
    return LoggedIn(target, account, kept)


def owner_of(account: Account) -> str:
    """The name that the user publishes under, or the nearest that the hub tells."""
    return account.slug or account.name or account.id
