"""Encryption: replies to clients that log in, and secrets in the database."""

import os
import tempfile
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.hub.settings import HubSettings

# --- RSA keys of clients that log in ---
# Needs the library `cryptography`, which takes 30 ms to import: only a login loads it.

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

LEAST_BITS = 2048
MOST_BITS = 4096
_LONGEST_PEM = 2000
_LEAST_EXPONENT = 65537
_MOST_EXPONENT = 2**32


def check_public_key(pem: str) -> None:
    """Raise UsageError unless `pem` is an RSA key of 2048 to 4096 bits with a sound exponent."""
    key = _load(pem)
    if not LEAST_BITS <= key.key_size <= MOST_BITS:
        raise UsageError(
            f"The public key has {key.key_size} bits; {LEAST_BITS} to {MOST_BITS} are supported"
        )
    exponent = key.public_numbers().e
    if exponent % 2 == 0 or not _LEAST_EXPONENT <= exponent < _MOST_EXPONENT:
        raise UsageError("The exponent of the public key is not safe", hint="use 65537")


def encrypt_for(pem: str, text: str) -> str:
    """base64 of `text` under RSA-OAEP (SHA-256, MGF1 with SHA-256, no label; RFC 8017)."""
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
    from cryptography.hazmat.primitives.hashes import SHA256

    padding = OAEP(mgf=MGF1(SHA256()), algorithm=SHA256(), label=None)
    return b64encode(_load(pem).encrypt(text.encode(), padding)).decode()


def _load(pem: str) -> "RSAPublicKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    problem = "The public key is not an RSA key in PEM (SubjectPublicKeyInfo)"
    if len(pem) > _LONGEST_PEM:
        raise UsageError(problem)
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm, UnicodeEncodeError) as error:
        raise UsageError(problem) from error
    if not isinstance(key, RSAPublicKey):
        raise UsageError(problem)
    return key


# --- Values at rest ---
# Fernet of the library `cryptography` (AES-128-CBC and HMAC-SHA-256) under a key of the hub:
# `PRIME_HUB_SECRET_KEY`, else the file `secret.key` in the data folder, made on first use. Every
# process of a hub must have the same; a sealed value begins with the key's fingerprint, so that
# another key is noticed and not met as a damaged value.

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
        """The original value; raises StorageFailed if it was sealed under another key."""
        from cryptography.fernet import InvalidToken

        fingerprint, _, token = sealed.partition(":")
        if fingerprint == self._fingerprint:
            try:
                return self._fernet.decrypt(token.encode()).decode()
            except InvalidToken as error:
                raise StorageFailed("A secret in the database is damaged") from error
        raise StorageFailed(
            "A secret was encrypted with a different key",
            hint="set the same PRIME_HUB_SECRET_KEY for every process of the hub",
        )

    def try_unseal(self, sealed: str) -> str | None:
        """The same for what a stranger brings: None if this hub has not sealed it."""
        try:
            return self.unseal(sealed)
        except (StorageFailed, UnicodeEncodeError):
            return None


def open_seal(settings: HubSettings) -> Seal:
    """The seal of a hub; raises UsageError for an invalid key, StorageFailed."""
    if settings.secret_key is not None:
        return Seal(settings.secret_key.encode())
    path = settings.data / "secret.key"
    with storage_errors(path):
        if not path.exists():
            _make_key(path)
        return Seal(path.read_bytes().strip())


def _make_key(path: Path) -> None:
    """Of two concurrent processes, one creates the key and both use it."""
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
