"""Keys to hubs: where they are kept, and which one goes to the hub of a context."""

from prime_cli.core.credentials.store import (
    Credential,
    Storage,
    StoredKey,
    find_credential,
    remove_credential,
    save_credential,
)

__all__ = [
    "Credential",
    "Storage",
    "StoredKey",
    "find_credential",
    "remove_credential",
    "save_credential",
]
