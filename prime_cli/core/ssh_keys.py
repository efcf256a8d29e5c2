"""OpenSSH public keys, parsed as strictly as granting access requires.

A key is a line `TYPE BASE64 COMMENT` (sshd(8), AUTHORIZED_KEYS FILE FORMAT). The decoded blob
follows RFC 4253 section 6.6 (RSA), RFC 5656 section 3.1 (ECDSA), RFC 8709 section 4 (Ed25519), and
OpenSSH's PROTOCOL.u2f for hardware keys.
"""

import base64
import binascii
import hashlib

from msgspec import Struct

from prime_cli.core.errors import UsageError

MOST_CHARACTERS = 16 * 1024
"""Of a public key file; the longest key that OpenSSH accepts has about 3000."""

_LEAST_RSA_BITS = 2048
_MOST_RSA_BITS = 16384
_LENGTH_BYTES = 4
_ED25519_BYTES = 32
_NIST = {
    "nistp256": (
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    ),
    "nistp384": (
        2**384 - 2**128 - 2**96 + 2**32 - 1,
        int(
            "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875a"
            "c656398d8a2ed19d2a85c8edd3ec2aef",
            16,
        ),
    ),
    "nistp521": (
        2**521 - 1,
        int(
            "51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109"
            "e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00",
            16,
        ),
    ),
}
"""The prime and `b` of the curves y^2 = x^3 - 3x + b (FIPS 186-4, D.1.2)."""

_UNCOMPRESSED = b"\x04"

_RSA = "ssh-rsa"
_ED25519 = "ssh-ed25519"
_HELD_ED25519 = "sk-ssh-ed25519@openssh.com"
_HELD_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
_CURVES = {
    **{f"ecdsa-sha2-{curve}": curve for curve in _NIST},
    _HELD_ECDSA: "nistp256",
}
KINDS = (_ED25519, *_CURVES, _HELD_ED25519, _RSA)
_OLD = "ssh-dss"
_CERTIFICATE = "-cert-v01@openssh.com"

_PRIVATE = (
    "PRIVATE KEY-----",
    "PuTTY-User-Key-File-",
    "SSH PRIVATE KEY FILE FORMAT",
    # `openssh-key-v` in base64: the start of such a file's second line.
    "b3BlbnNzaC1rZXktd",
)
_OTHER_FORMS = ("BEGIN SSH2 PUBLIC KEY", "BEGIN PUBLIC KEY", "BEGIN RSA PUBLIC KEY")
_NEW_KEY = "create one with `ssh-keygen -t ed25519`"


class PublicKey(Struct, frozen=True):
    """A key that OpenSSH accepts. `encoded` is its blob in canonical base64."""

    kind: str
    encoded: str
    comment: str = ""

    @property
    def line(self) -> str:
        """The key as in a `.pub` file, with its comment and without a line break."""
        return f"{self.kind} {self.encoded} {self.comment}".rstrip()

    @property
    def bare(self) -> str:
        """The same without the comment, which is free text."""
        return f"{self.kind} {self.encoded}"

    @property
    def fingerprint(self) -> str:
        """`SHA256:` and the digest in base64 without padding, as `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.encoded)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def read_public_key(text: str) -> PublicKey:
    """The one public key in `text`; empty lines and comments (`# …`) are allowed.

    Raises UsageError for anything else, with a message that never quotes possible secrets.
    """
    if any(mark in text for mark in _PRIVATE):
        raise UsageError(
            "This is a private key; it must never leave its machine",
            hint="pass the public key, the file that ends in `.pub`",
        )
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"A public key has less than {MOST_CHARACTERS} characters")
    if any(mark in text for mark in _OTHER_FORMS):
        raise UsageError(
            "This public key is not in OpenSSH's format",
            hint="`ssh-keygen -i -f FILE` converts it; add `-m PKCS8` before `-f` for PEM",
        )
    lines = [line.strip(" \r") for line in text.removeprefix("\ufeff").split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    if len(lines) != 1:
        count = "no public key" if not lines else "more than one line"
        raise UsageError(f"Found {count}", hint="pass one key, on one line")
    return _read_line(lines[0])


def _read_line(line: str) -> PublicKey:
    if not line.isprintable():
        raise UsageError("The public key has unprintable characters")
    kind, _, rest = line.partition(" ")
    encoded, _, comment = rest.lstrip(" ").partition(" ")
    if kind not in KINDS:
        raise _no_key(line, kind)
    blob = _decode(encoded)
    _check(kind, blob)
    return PublicKey(kind, encoded, comment.strip(" "))


def _no_key(line: str, first: str) -> UsageError:
    if first == _OLD:
        return UsageError("OpenSSH no longer supports keys of type `ssh-dss`", hint=_NEW_KEY)
    if first.endswith(_CERTIFICATE):
        return UsageError("This is a certificate", hint="pass the certified public key itself")
    if any(word in KINDS for word in line.split(" ")):
        return UsageError("The public key has options", hint="remove everything before its type")
    return UsageError(
        "This is not an OpenSSH public key",
        hint="it starts with its type, such as `ssh-ed25519 AAAA`",
    )


def _decode(encoded: str) -> bytes:
    try:
        blob = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _damaged() from error
    if base64.b64encode(blob).decode() != encoded:
        raise _damaged()
    return blob


def _check(kind: str, blob: bytes) -> None:
    """Raise UsageError unless `blob` is a complete key of this kind with no trailing bytes."""
    inner, rest = _take(blob)
    if inner != kind.encode():
        raise UsageError(f"The public key says `{kind}` but contains another type")
    if kind == _RSA:
        _exponent, rest = _take(rest)
        modulus, rest = _take(rest)
        _check_modulus(modulus)
    elif kind in _CURVES:
        curve, rest = _take(rest)
        point, rest = _take(rest)
        if curve != _CURVES[kind].encode() or not _is_on_curve(_CURVES[kind], point):
            raise _damaged()
    else:
        number, rest = _take(rest)
        if len(number) != _ED25519_BYTES:
            raise _damaged()
    if kind in (_HELD_ED25519, _HELD_ECDSA):
        _application, rest = _take(rest)
    if rest:
        raise _damaged()


def _is_on_curve(curve: str, point: bytes) -> bool:
    """Whether a point (SEC 1, 2.3.3, uncompressed) is on the curve; OpenSSH accepts no others."""
    prime, b = _NIST[curve]
    size = (prime.bit_length() + 7) // 8
    if point[:1] != _UNCOMPRESSED or len(point) != 1 + 2 * size:
        return False
    x, y = (int.from_bytes(part, "big") for part in (point[1 : 1 + size], point[1 + size :]))
    return x < prime and y < prime and (y * y - x * x * x + 3 * x - b) % prime == 0


def _check_modulus(modulus: bytes) -> None:
    bits = int.from_bytes(modulus, "big", signed=True).bit_length()
    if modulus[:1] >= b"\x80" or bits > _MOST_RSA_BITS:
        raise _damaged()
    if bits < _LEAST_RSA_BITS:
        raise UsageError(
            f"RSA keys of less than {_LEAST_RSA_BITS} bits are insecure; this one has {bits}",
            hint=_NEW_KEY,
        )


def _take(blob: bytes) -> tuple[bytes, bytes]:
    """Split off an RFC 4251 string (four length bytes, then its bytes); returns it and the rest."""
    end = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "big")
    if len(blob) < max(end, _LENGTH_BYTES):
        raise _damaged()
    return blob[_LENGTH_BYTES:end], blob[end:]


def _damaged() -> UsageError:
    return UsageError("The public key is damaged or cut off", hint="copy the whole line again")
