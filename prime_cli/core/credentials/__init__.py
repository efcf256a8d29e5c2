"""Keys to hubs: where they are kept, and which one goes to the hub of a context."""

from prime_cli.core.credentials.finding import Credential, find_credential

__all__ = ["Credential", "find_credential"]
