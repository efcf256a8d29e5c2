"""Issuers of tokens: what they say of themselves, their keys, and whether a token is theirs.

Only issuers that the hub's admin has named are ever asked, at addresses that they name themselves.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from prime_cli.core.errors import NotAllowed, Unreachable
from prime_cli.core.http import is_loopback
from prime_cli.hub.identity import Fetch

if TYPE_CHECKING:
    from joserfc.jwk import Key
    from joserfc.jwt import Token

T = TypeVar("T")

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
"""Signatures with a public key; never `none`, nor one with a secret."""

LONGEST_TOKEN = 16 * 1024
LEEWAY_SECONDS = 30
"""How far an issuer's clock may be off."""
KEPT_SECONDS = 3600.0
ASKED_AGAIN_SECONDS = 30.0
"""The least time between two requests for the keys of one issuer."""
_MOST_KEYS = 100
_LEAST_RSA_BITS = 2048
_BITS_OF_BASE64 = 6


class ProviderMetadata(msgspec.Struct):
    """What is used of `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0)."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _JsonWebKeys(msgspec.Struct):
    keys: list[dict[str, Any]]


@dataclass
class _Known:
    """What is known of one issuer; times are monotonic."""

    metadata: ProviderMetadata | None = None
    keys: "dict[str | None, Key]" = field(default_factory=dict)
    fetched: float = float("-inf")
    asked: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)


class Issuers:
    """Checks the tokens of issuers, whose keys it keeps for an hour.

    `clock` is the time of day, `monotonic` counts seconds.
    """

    def __init__(
        self,
        fetch: Fetch,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fetch = fetch
        self._clock = clock
        self._monotonic = monotonic
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def metadata(self, issuer: str) -> ProviderMetadata:
        """What `issuer` says of itself; raises Unreachable if it is not to be had or trusted."""
        known = self._of(issuer)
        with known.lock:
            return self._refresh(issuer, known)

    def decode(self, token: str, issuer: str) -> "Token":
        """A token that `issuer` has signed; its claims are not checked yet.

        Raises NotAllowed for any other, Unreachable.
        """
        from joserfc import jwt
        from joserfc.errors import JoseError

        key = self._key(issuer, _read_header(token).get("kid"))
        try:
            return jwt.decode(token, key, algorithms=ALGORITHMS)
        except (JoseError, ValueError) as error:
            raise _refused(str(error)) from error

    def now(self) -> int:
        """Seconds since 1970."""
        return int(self._clock().timestamp())

    def _key(self, issuer: str, kid: object) -> "Key":
        """The key of that name, asking again for one that is unknown."""
        known = self._of(issuer)
        with known.lock:
            self._refresh(issuer, known)
            key = _pick(known.keys, kid)
            if key is None:
                self._refresh(issuer, known, unknown=True)
                key = _pick(known.keys, kid)
        if key is None:
            raise _refused("it is signed with a key that its issuer does not publish")
        return key

    def _of(self, issuer: str) -> _Known:
        with self._lock:
            return self._known.setdefault(issuer, _Known())

    def _refresh(self, issuer: str, known: _Known, *, unknown: bool = False) -> ProviderMetadata:
        """Ask for what is too old, or for a key that is `unknown`; but not all the time."""
        now = self._monotonic()
        just_asked = now - known.asked < ASKED_AGAIN_SECONDS
        if known.metadata is not None and now - known.fetched < KEPT_SECONDS:
            if just_asked or not unknown:
                return known.metadata
        elif just_asked:
            raise _unusable(issuer, "it did not answer a moment ago")
        known.asked = now
        metadata = self._read(f"{issuer.rstrip('/')}/{_WELL_KNOWN}", issuer, ProviderMetadata)
        if metadata.issuer != issuer:
            raise _unusable(issuer, f"it calls itself `{metadata.issuer[:200]}`")
        for url in (
            metadata.jwks_uri,
            metadata.authorization_endpoint,
            metadata.token_endpoint,
            metadata.userinfo_endpoint,
        ):
            if url is not None:
                require_safe(url, issuer)
        keys = self._read(metadata.jwks_uri, issuer, _JsonWebKeys)
        known.keys = _import(keys.keys[:_MOST_KEYS])
        known.metadata, known.fetched = metadata, now
        return metadata

    def _read(self, url: str, issuer: str, kind: type[T]) -> T:
        require_safe(url, issuer)
        status, body = self.fetch(url)
        if status != _OK:
            raise _unusable(issuer, f"{url} answered {status}")
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise _unusable(issuer, f"{url} is not what the standard says: {error}") from error


_OK = 200
_WELL_KNOWN = ".well-known/openid-configuration"


def require_safe(url: str, issuer: str) -> None:
    """Raise Unreachable unless `url` is https, or on this machine as its issuer is."""
    parts = urlsplit(url)
    plain = parts.scheme == "http" and is_loopback(url) and is_loopback(issuer)
    if not (parts.scheme == "https" or plain) or not parts.hostname or "@" in parts.netloc:
        raise _unusable(issuer, f"`{url[:200]}` is not an https address")


def read_issuer(token: str) -> str:
    """Whom a token says it is from, which proves nothing; raises NotAllowed."""
    from joserfc.util import urlsafe_b64decode

    _read_header(token)
    try:
        payload = msgspec.json.decode(urlsafe_b64decode(token.split(".")[1].encode()))
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise _refused("it is not a JSON Web Token") from error
    issuer = payload.get("iss") if isinstance(payload, dict) else None
    if not isinstance(issuer, str):
        raise _refused("it does not say who issued it")
    return issuer


def _read_header(token: str) -> Mapping[str, Any]:
    from joserfc.errors import JoseError
    from joserfc.jws import extract_compact

    if len(token) > LONGEST_TOKEN:
        raise _refused("it is too long")
    try:
        return extract_compact(token.encode()).headers()
    except (JoseError, ValueError, RecursionError) as error:
        raise _refused("it is not a JSON Web Token") from error


def _pick(keys: "Mapping[str | None, Key]", kid: object) -> "Key | None":
    """The key of a token; one without a name is that of an issuer with a single key."""
    if kid is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(kid) if isinstance(kid, str) else None


def _import(published: list[dict[str, Any]]) -> "dict[str | None, Key]":
    """The usable public keys by name; others, as for encryption, are left aside."""
    from joserfc.errors import JoseError
    from joserfc.jwk import JWKRegistry

    usable: dict[str | None, Key] = {}
    for each in published:
        if each.get("use") not in (None, "sig") or each.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        if each["kty"] == "RSA" and len(str(each.get("n"))) * _BITS_OF_BASE64 < _LEAST_RSA_BITS:
            continue
        try:
            key = JWKRegistry.import_key({name: each[name] for name in each if name in _PUBLIC})
        except (JoseError, ValueError, TypeError):
            continue
        kid = each.get("kid")
        usable[kid if isinstance(kid, str) else None] = key
    return usable


_PUBLIC = frozenset({"kty", "kid", "alg", "n", "e", "crv", "x", "y"})


def _refused(why: str) -> NotAllowed:
    return NotAllowed(f"The token was refused: {why}")


def _unusable(issuer: str, why: str) -> Unreachable:
    return Unreachable(f"The provider {issuer} cannot be used: {why}")


# --- Tokens of CI jobs ---
# Signed by their issuer for this hub alone, and soon over.

LONGEST_JOB_SECONDS = 24 * 3600
_LONGEST_ID = 500


def check_job_token(issuers: Issuers, token: str, issuer: str, audience: str) -> dict[str, Any]:
    """The claims of a valid token; raises NotAllowed, Unreachable."""
    from joserfc.errors import JoseError
    from joserfc.jwt import JWTClaimsRegistry

    claims = issuers.decode(token, issuer).claims
    registry = JWTClaimsRegistry(
        issuers.now(),
        LEEWAY_SECONDS,
        iss={"essential": True, "value": issuer},
        exp={"essential": True},
        iat={"essential": True},
        jti={"essential": True},
    )
    try:
        registry.validate(claims)
    except JoseError as error:
        raise NotAllowed(f"The token was refused: {error}") from error
    # A second audience could use the token here as well.
    if claims.get("aud") not in (audience, [audience]):
        raise NotAllowed(
            f"The token was refused: it is for {str(claims.get('aud'))[:200]}, not {audience}",
            hint=f"request it for the audience {audience}",
        )
    if claims["exp"] > issuers.now() + LONGEST_JOB_SECONDS:
        raise NotAllowed("The token was refused: it is valid for more than a day")
    if not isinstance(claims["jti"], str) or len(claims["jti"]) > _LONGEST_ID:
        raise NotAllowed("The token was refused: its `jti` is not an id")
    return dict(claims)
