"""Unguessable names: row ids, API keys, and the secrets in upload URLs."""

import secrets
import string

from prime_cli.core.digests import digest_bytes

KEY_PREFIX = "prime_sk_"


def new_id(prefix: str) -> str:
    """`env_0f1e…`: a prefix that says what it is, and 64 random bits."""
    return f"{prefix}_{secrets.token_hex(8)}"


def new_token() -> str:
    """256 random bits that may stand in a URL."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What the database stores of a token, so that a copy of it opens nothing."""
    return digest_bytes(token.encode())


def new_team_id() -> str:
    """A team id in the form of a cuid, by which official clients tell ids from slugs."""
    letters = string.ascii_lowercase + string.digits
    return "c" + "".join(secrets.choice(letters) for _ in range(24))


def new_key() -> str:
    """An API key: a prefix that secret scanners can recognise, and 256 random bits."""
    return f"{KEY_PREFIX}{new_token()}"
