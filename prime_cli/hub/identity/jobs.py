"""Tokens of CI jobs: signed by their issuer for this hub alone, and soon over."""

from typing import Any

from prime_cli.core.errors import NotAllowed
from prime_cli.hub.identity.issuers import LEEWAY_SECONDS, Issuers

LONGEST_SECONDS = 24 * 3600
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
    if claims["exp"] > issuers.now() + LONGEST_SECONDS:
        raise NotAllowed("The token was refused: it is valid for more than a day")
    if not isinstance(claims["jti"], str) or len(claims["jti"]) > _LONGEST_ID:
        raise NotAllowed("The token was refused: its `jti` is not an id")
    return dict(claims)
