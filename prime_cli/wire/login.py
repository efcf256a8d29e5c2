"""Logging in with a browser, as the official client does it (releases 0.3 to 0.18)."""

import msgspec


class ChallengeRequest(msgspec.Struct, rename="camel"):
    """`POST /auth_challenge/generate`: an RSA public key as PEM (SubjectPublicKeyInfo).

    Releases since 0.9 may add `limits`, which are about things that no hub here has.
    """

    encryption_public_key: str


class ChallengeTicket(msgspec.Struct):
    """The code that people see and compare, and the token that asks for what became of it."""

    challenge: str
    status_auth_token: str


class ChallengeStatus(msgspec.Struct):
    """`GET /auth_challenge/status`: null until approved.

    Then base64 of the API key's UTF-8 bytes under RSA-OAEP with SHA-256, MGF1 with SHA-256, and no
    label (RFC 8017).
    """

    result: str | None = None
