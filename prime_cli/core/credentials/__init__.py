"""Keys to hubs: where they are kept, and which one goes to the hub of a context."""

from prime_cli.core.credentials.finding import Credential, find_credential
from prime_cli.core.credentials.store import Kept, Storage, remove_credential, save_credential

__all__ = [
    "Credential",
    "Kept",
    "Storage",
    "find_credential",
    "remove_credential",
    "save_credential",
]
