"""Keys to hubs, in the system's keyring or in `$PRIME_HOME/credentials.toml` (mode 0600).

    [contexts.team]
    hub = "https://hub.example.org"
    key = "prime_sk_…"

    [contexts.prime]
    hub = "https://api.primeintellect.ai"
    keyring = "prime at https://api.primeintellect.ai (/home/ada/.prime)"

A key belongs to the address beside it, so a context moved to another hub has no key. `keyring` is
the account of service `prime-cli` in the system's keyring.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from prime_cli.core.config import Config
from prime_cli.core.config.contexts import read_table
from prime_cli.core.config.parsers import normalize_hub_url
from prime_cli.core.credentials import keyrings
from prime_cli.core.errors import NotLoggedIn, StorageFailed, UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import home_path, write_atomically

__all__ = [
    "Credential",
    "KeyStorage",
    "StoredKey",
    "find_credential",
    "remove_credential",
    "save_credential",
]


LONGEST_KEY = 4096

_KEY = re.compile(r"[\x21-\x7e]+")


def check_key(text: str, source: str) -> str:
    """`text` stripped; raises NotLoggedIn if no hub can have issued it.

    The message names `source`, never the text.
    """
    key = text.strip()
    if not key:
        raise NotLoggedIn(f"The key from {source} is empty")
    if len(key) > LONGEST_KEY or not _KEY.fullmatch(key):
        raise NotLoggedIn(
            f"{source} does not contain a key: keys are one word of printable ASCII characters"
        )
    return key


@dataclass(frozen=True)
class CredentialEntry:
    """What is kept for one context: the key itself, or the keyring account that holds it."""

    hub: str
    key: str | None = field(default=None, repr=False)
    account: str | None = None


def credentials_file(home: Path) -> Path:
    """The path of a home's entries."""
    return home_path(home, "credentials.toml")


def read_entries(home: Path) -> dict[str, CredentialEntry]:
    """The entries by context; {} if there is no file; raises UsageError if it is not TOML."""
    file = credentials_file(home)
    contexts = read_table(file).get("contexts", {})
    if not isinstance(contexts, dict):
        raise UsageError(f"contexts in {file} must be a table")
    return {
        name: CredentialEntry(str(entry["hub"]), _text(entry, "key"), _text(entry, "keyring"))
        for name, entry in contexts.items()
        if isinstance(entry, dict) and "hub" in entry
    }


def change_entries(home: Path, changes: Mapping[str, CredentialEntry | None]) -> None:
    """Write the entries of `changes`, deleting those that are None; the others stay.

    One writer at a time; the file is replaced as a whole. Raises StorageFailed, Conflict.
    """
    import tomli_w

    file = credentials_file(home)
    with locked(file.with_name("credentials.lock")):
        entries: dict[str, CredentialEntry | None] = {**read_entries(home), **changes}
        tables = {name: _table(entry) for name, entry in entries.items() if entry is not None}
        write_atomically(file, tomli_w.dumps({"contexts": tables}).encode("utf-8"))


def _table(entry: CredentialEntry) -> dict[str, str]:
    values = {"hub": entry.hub, "key": entry.key, "keyring": entry.account}
    return {name: value for name, value in values.items() if value is not None}


def _text(entry: Mapping[str, object], name: str) -> str | None:
    value = entry.get(name)
    return value if isinstance(value, str) and value else None


class KeyStorage(StrEnum):
    """Where to keep keys."""

    AUTO = "auto"
    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True)
class StoredKey:
    """Where a key was stored, and why if a missing keyring forced the file."""

    storage: KeyStorage
    where: str
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """What to say once, when a key is saved."""
        because = f": {self.reason}" if self.reason else ""
        return f"The key is saved in {self.where}{because}"


def save_credential(
    home: Path, context: str, hub: str, key: str, storage: KeyStorage = KeyStorage.AUTO
) -> StoredKey:
    """Store `key` for `context`, valid for the address `hub` only.

    It replaces an earlier one, which is also deleted from the keyring if that answers. `auto` is
    the keyring if a real one answers in time, else `credentials.toml` (0600). Raises StorageFailed
    if `keyring` is requested and there is none, or nothing can be written.
    """
    hub, reason = normalize_hub_url(hub), None
    if storage != KeyStorage.FILE:
        try:
            return _save_in_keyring(home, context, hub, key)
        except keyrings.NoKeyring as error:
            reason = str(error)
    if storage == KeyStorage.KEYRING:
        raise StorageFailed(
            f"The key was not saved: {reason}", hint="save it in a file with `--storage file`"
        )
    return _save_in_file(home, context, hub, key, reason)


def remove_credential(home: Path, context: str) -> bool:
    """Delete the key of `context`, wherever it is kept; False if there was none.

    Raises StorageFailed if its keyring does not answer; the entry then stays for another try.
    """
    entry = read_entries(home).get(context)
    if entry is None:
        return False
    if entry.account:
        try:
            keyrings.delete_key(entry.account)
        except keyrings.NoKeyring as error:
            raise StorageFailed(
                f"The key of `{context}` is still in the keyring: {error}",
                hint="try again when the keyring is available",
            ) from None
    change_entries(home, {context: None})
    return True


def _save_in_keyring(home: Path, context: str, hub: str, key: str) -> StoredKey:
    account = f"{context} at {hub} ({home})"
    backend = keyrings.save_key(account, key)
    change_entries(home, {context: CredentialEntry(hub, account=account)})
    return StoredKey(KeyStorage.KEYRING, f"the keyring ({backend})")


def _save_in_file(home: Path, context: str, hub: str, key: str, reason: str | None) -> StoredKey:
    earlier = read_entries(home).get(context)
    if earlier is not None and earlier.account:
        with suppress(keyrings.NoKeyring):
            keyrings.delete_key(earlier.account)
    change_entries(home, {context: CredentialEntry(hub, key=key)})
    return StoredKey(KeyStorage.FILE, f"{credentials_file(home)} (mode 0600)", reason)


KEY_VARIABLE = "PRIME_API_KEY"


@dataclass(frozen=True)
class Credential:
    """The key to one hub, None if there is none, and its source: a variable or a store.

    `trouble` says in a sentence why a stored key could not be read.
    """

    key: str | None = field(repr=False)
    source: str
    trouble: str | None = None


def find_credential(config: Config, environ: Mapping[str, str] = os.environ) -> Credential:
    """The key of the current context's hub.

    PRIME_API_KEY wins if meant for this hub; otherwise the key that `prime login` stored, if it was
    stored for this address.
    """
    context = config.context
    if context.base_url is None:
        return Credential(None, "no key needed")
    if context.takes_key_variable and (key := environ.get(KEY_VARIABLE)):
        return Credential(key, KEY_VARIABLE)
    home = config.home.value
    entry = read_entries(home).get(context.name)
    if entry is None or entry.hub != context.base_url:
        return Credential(None, "not set")
    if entry.account is None:
        return Credential(entry.key, str(credentials_file(home)))
    try:
        key = keyrings.load_key(entry.account)
    except keyrings.NoKeyring as error:
        trouble = f"The key of `{context.name}` cannot be read from the keyring: {error}"
        return Credential(None, "keyring", trouble)
    return Credential(key, "keyring")
