"""Public keys of clients that log in, and texts that only they can read.

Needs the library `cryptography`, which takes 30 ms to import: only a login loads it.
"""

from base64 import b64encode
from typing import TYPE_CHECKING

from prime_cli.core.errors import UsageError

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
            f"The public key has {key.key_size} bits, where {LEAST_BITS} to {MOST_BITS} are taken"
        )
    exponent = key.public_numbers().e
    if exponent % 2 == 0 or not _LEAST_EXPONENT <= exponent < _MOST_EXPONENT:
        raise UsageError("The public key has an exponent that is not safe", hint="use 65537")


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
