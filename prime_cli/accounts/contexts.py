"""Contexts together with the keys that are kept for them."""

from prime_cli.core.config import LOCAL, PRIME, Config, load_config
from prime_cli.core.config.editing import (
    check_context_name,
    delete_context,
    known_contexts,
    rename_context,
)
from prime_cli.core.config.settings import read_table
from prime_cli.core.credentials import Storage, find_credential, remove_credential, save_credential
from prime_cli.core.credentials.file import read_entries
from prime_cli.core.errors import NotFound, StorageFailed, UsageError


def rename_with_key(config: Config, old: str, new: str) -> None:
    """Call the context `old` `new`; the key stays where it is kept, under the new name.

    Raises UsageError and Conflict for names that cannot be, StorageFailed where the keyring does
    not answer; nothing has changed then.
    """
    check_context_name(new)
    entry = read_entries(config.home.value).get(old)
    if entry is None:
        rename_context(config.file, old, new)
        return
    credential = find_credential(load_config(context=old), {})
    if credential.trouble:
        raise StorageFailed(credential.trouble, hint="try again where the keyring can be reached")
    rename_context(config.file, old, new)
    if credential.key:
        storage = Storage.KEYRING if entry.account else Storage.FILE
        save_credential(config.home.value, new, entry.hub, credential.key, storage)
    remove_credential(config.home.value, old)


def require_deletable(config: Config, name: str) -> None:
    """Raise UsageError for a context that is built in, NotFound for one that is not there."""
    if name in (LOCAL, PRIME):
        raise UsageError(
            f"`{name}` is built in",
            hint="choose another with `prime context use`" + _or_log_out(name),
        )
    keyed = read_entries(config.home.value)
    if name not in known_contexts(read_table(config.file)) and name not in keyed:
        raise NotFound(f"There is no context `{name}`", hint="see `prime context list`")


def delete_with_key(config: Config, name: str) -> bool:
    """Forget the key, then the context; whether it was the current one. Raises StorageFailed."""
    was_current = read_table(config.file).get("context") == name
    remove_credential(config.home.value, name)
    delete_context(config.file, name)
    return was_current


def _or_log_out(name: str) -> str:
    return ", or forget its key with `prime logout prime`" if name == PRIME else ""
