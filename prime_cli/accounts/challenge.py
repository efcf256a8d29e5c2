"""A pair of RSA keys for one login: a hub encrypts with one half, and this process decrypts.

The library `cryptography` takes 30 ms to import, so only logging in loads it.
"""

from base64 import b64decode
from typing import TYPE_CHECKING

from prime_cli.core.credentials.checked import check_key
from prime_cli.core.errors import IntegrityError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

BITS = 2048
"""What the official client makes; a key of a hub may have 190 bytes then (RFC 8017, 7.1.1)."""


class Challenge:
    """The two halves; the private one never leaves this process."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

        self._private: RSAPrivateKey = generate_private_key(public_exponent=65537, key_size=BITS)

    @property
    def public_key(self) -> str:
        """PEM of the SubjectPublicKeyInfo."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._private.public_key()
        return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    def open(self, result: str, source: str) -> str:
        """The API key in a hub's answer; raises IntegrityError for what is not for this login.

        `result` is base64 of the UTF-8 key under RSA-OAEP (SHA-256, MGF1 with SHA-256, no label).
        Raises NotLoggedIn for what cannot be a key of `source`.
        """
        from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
        from cryptography.hazmat.primitives.hashes import SHA256

        padding = OAEP(mgf=MGF1(SHA256()), algorithm=SHA256(), label=None)
        try:
            text = self._private.decrypt(b64decode(result, validate=True), padding).decode("utf-8")
        except ValueError as error:
            raise IntegrityError(
                f"{source} approved the login with a key that was not encrypted for it",
                hint="begin again; if it stays so, tell those who run the hub",
            ) from error
        return check_key(text, source)
