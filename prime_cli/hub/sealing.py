"""Values that are kept so that a copy of the database does not tell them.

Fernet of the library `cryptography` (AES-128-CBC and HMAC-SHA-256) under a key of the hub:
`PRIME_HUB_SECRET_KEY`, else the file `secret.key` in the data folder, made on first use. Every
process of a hub must have the same; a sealed value begins with the key's fingerprint, so that
another key is noticed and not met as a damaged value.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.hub.settings import HubSettings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_FINGERPRINT = 8


class Seal:
    """Seals and unseals with the key of one hub."""

    def __init__(self, key: bytes) -> None:
        self._fernet = _fernet(key)
        self._fingerprint = digest_bytes(key)[:_FINGERPRINT]

    def seal(self, value: str) -> str:
        """Text for the database."""
        return f"{self._fingerprint}:{self._fernet.encrypt(value.encode()).decode()}"

    def unseal(self, sealed: str) -> str:
        """The value again; raises StorageFailed when it was sealed under another key."""
        from cryptography.fernet import InvalidToken

        fingerprint, _, token = sealed.partition(":")
        if fingerprint == self._fingerprint:
            try:
                return self._fernet.decrypt(token.encode()).decode()
            except InvalidToken as error:
                raise StorageFailed("A secret in the database is damaged") from error
        raise StorageFailed(
            "A secret was sealed under another key than this hub's",
            hint="give every process of the hub the same PRIME_HUB_SECRET_KEY",
        )


def open_seal(settings: HubSettings) -> Seal:
    """The seal of a hub; raises UsageError for a key that is none, StorageFailed."""
    if settings.secret_key is not None:
        return Seal(settings.secret_key.encode())
    path = settings.data / "secret.key"
    with storage_errors(path):
        if not path.exists():
            _make_key(path)
        return Seal(path.read_bytes().strip())


def _make_key(path: Path) -> None:
    """Of two processes at once, one makes the key and both use it."""
    from cryptography.fernet import Fernet

    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".secret-") as file:
        file.write(Fernet.generate_key())
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(file.name)


def _fernet(key: bytes) -> "Fernet":
    from cryptography.fernet import Fernet

    try:
        return Fernet(key)
    except ValueError as error:
        raise UsageError(
            "PRIME_HUB_SECRET_KEY must be 32 bytes in URL-safe base64",
            hint="make one with `openssl rand -base64 32 | tr '+/' '-_'`",
        ) from error
