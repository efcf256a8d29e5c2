"""Names that nobody can guess: row ids, and the secrets inside upload URLs."""

import secrets

from prime_cli.core.digests import digest_bytes


def new_id(prefix: str) -> str:
    """`env_0f1e…`: a prefix that says what it is, and 64 random bits."""
    return f"{prefix}_{secrets.token_hex(8)}"


def new_token() -> str:
    """256 random bits that may stand in a URL."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What the database keeps of a token, so that a copy of it opens nothing."""
    return digest_bytes(token.encode())
