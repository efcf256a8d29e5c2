"""Keeping a key: in the system's keyring if there is one that answers, else in a file."""

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prime_cli.core.config.addresses import origin_of
from prime_cli.core.credentials import keyrings
from prime_cli.core.credentials.file import Entry, change_entries, credentials_file, read_entries
from prime_cli.core.errors import StorageFailed


class Storage(StrEnum):
    """Where keys are to be kept."""

    AUTO = "auto"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True)
class Kept:
    """Where a key was put, and, if that is the file for want of a keyring, why."""

    storage: Storage
    where: str
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """What is said once, when a key is saved."""
        because = f": {self.reason}" if self.reason else ""
        return f"The key is kept in {self.where}{because}"


def save_credential(
    home: Path, context: str, hub: str, key: str, storage: Storage = Storage.AUTO
) -> Kept:
    """Keep `key` for `context`, good for the address `hub` only.

    It replaces an earlier one, which is taken out of the keyring too if that answers.

    `auto` is the keyring where a real one answers in time, else `credentials.toml` (0600).
    Raises StorageFailed where `keyring` is asked for and there is none, or where nothing can be
    written.
    """
    hub, reason = origin_of(hub), None
    if storage != Storage.FILE:
        try:
            return _save_in_keyring(home, context, hub, key)
        except keyrings.NoKeyring as error:
            reason = str(error)
    if storage == Storage.KEYRING:
        raise StorageFailed(
            f"The key was not saved: {reason}", hint="`--storage file` keeps it in a file"
        )
    return _save_in_file(home, context, hub, key, reason)


def remove_credential(home: Path, context: str) -> bool:
    """Forget the key of `context`, wherever it is kept; False if there was none.

    Raises StorageFailed when the keyring that has it does not answer; the entry then stays, so
    that it can be tried again.
    """
    entry = read_entries(home).get(context)
    if entry is None:
        return False
    if entry.account:
        try:
            keyrings.forget(entry.account)
        except keyrings.NoKeyring as error:
            raise StorageFailed(
                f"The key of `{context}` is still in the keyring: {error}",
                hint="try again where the keyring can be reached",
            ) from None
    change_entries(home, {context: None})
    return True


def _save_in_keyring(home: Path, context: str, hub: str, key: str) -> Kept:
    account = f"{context} at {hub} ({home})"
    backend = keyrings.keep(account, key)
    change_entries(home, {context: Entry(hub, account=account)})
    return Kept(Storage.KEYRING, f"the keyring ({backend})")


def _save_in_file(home: Path, context: str, hub: str, key: str, reason: str | None) -> Kept:
    earlier = read_entries(home).get(context)
    if earlier is not None and earlier.account:
        with suppress(keyrings.NoKeyring):
            keyrings.forget(earlier.account)
    change_entries(home, {context: Entry(hub, key=key)})
    return Kept(Storage.FILE, f"{credentials_file(home)} (mode 0600)", reason)
