"""Logging in with a browser, as the official client does it (releases 0.3 to 0.18)."""

from typing import Any

import msgspec


class KeyLimits(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What the new key may use of things that no hub here has: nothing is lost where it is dropped.

    Any other limit would be.
    """

    max_concurrent_sandboxes: Any = None
    max_sandbox_creations_per_hour: Any = None
    max_sandbox_cpu_cores: Any = None
    max_sandbox_gpu_count: Any = None
    max_concurrent_tunnels: Any = None
    max_tunnel_creations_per_hour: Any = None
    max_tunnel_ttl_hours: Any = None


class ChallengeRequest(
    msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """`POST /auth_challenge/generate`: an RSA public key as PEM (SubjectPublicKeyInfo).

    Releases since 0.9 may add `limits`; earlier hubs know no such field, so none is sent.
    """

    encryption_public_key: str
    limits: KeyLimits | None = None


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
