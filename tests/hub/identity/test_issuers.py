"""Whether a token is an issuer's, whose keys are asked for at a socket of this machine."""

import hmac
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from prime_cli.client.api.single_requests import fetch
from prime_cli.core.errors import NotAllowed, Unreachable
from prime_cli.hub.identity.issuers import KEPT_SECONDS, LONGEST_TOKEN, Issuers, read_issuer
from tests.helpers.openid_provider import OpenIdProvider, make_key, openid_provider

__all__ = ["openid_provider"]


class Seconds:
    """Seconds that go on only when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def issuers(seconds: Seconds) -> Issuers:
    return Issuers(fetch, lambda: datetime.now(UTC), seconds)


def test_token_of_the_issuer_is_read(openid_provider: OpenIdProvider, issuers: Issuers) -> None:
    token = openid_provider.token(sub="1")
    assert read_issuer(token) == openid_provider.url
    assert issuers.decode(token, openid_provider.url).claims["sub"] == "1"


def test_keys_are_asked_for_once_an_hour(
    openid_provider: OpenIdProvider, issuers: Issuers, seconds: Seconds
) -> None:
    for _ in range(3):
        issuers.decode(openid_provider.token(), openid_provider.url)
    assert openid_provider.requests.count("/jwks") == 1
    seconds.now += KEPT_SECONDS
    issuers.decode(openid_provider.token(), openid_provider.url)
    assert openid_provider.requests.count("/jwks") == 2


def test_unknown_key_is_asked_for_but_not_by_every_token(
    openid_provider: OpenIdProvider, issuers: Issuers, seconds: Seconds
) -> None:
    issuers.decode(openid_provider.token(), openid_provider.url)
    new = make_key("second")
    openid_provider.publish(new)
    for _ in range(5):
        with pytest.raises(NotAllowed, match="does not publish"):
            issuers.decode(openid_provider.token(new), openid_provider.url)
    assert openid_provider.requests.count("/jwks") == 1
    seconds.now += 31
    issuers.decode(openid_provider.token(new), openid_provider.url)
    with pytest.raises(NotAllowed, match="does not publish"):
        issuers.decode(openid_provider.token(), openid_provider.url)
    assert openid_provider.requests.count("/jwks") == 2


def unsigned(provider: OpenIdProvider) -> str:
    _, payload, _ = provider.token(sub="1").split(".")
    return f"eyJhbGciOiJub25lIn0.{payload}."


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def with_the_public_key_as_a_secret(provider: OpenIdProvider) -> str:
    _, payload, _ = provider.token(sub="1").split(".")
    header = encoded(b'{"alg":"HS256","kid":"first"}')
    signed = f"{header}.{payload}"
    secret = provider.key.as_pem(private=False)
    return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), 'sha256'))}"


def by_another_key_of_that_name(provider: OpenIdProvider) -> str:
    return provider.token(ECKey.generate_key("P-256", {"kid": "first"}))


def with_a_changed_claim(provider: OpenIdProvider) -> str:
    header, _, signature = provider.token(sub="1").split(".")
    return f"{header}.{provider.token(sub='2').split('.')[1]}.{signature}"


@pytest.mark.parametrize(
    "forge",
    [
        unsigned,
        with_the_public_key_as_a_secret,
        by_another_key_of_that_name,
        with_a_changed_claim,
        lambda _: "",
        lambda _: "a.b.c",
        lambda _: "x" * (LONGEST_TOKEN + 1),
    ],
)
def test_forged_token_is_refused(
    forge: Callable[[OpenIdProvider], str], openid_provider: OpenIdProvider, issuers: Issuers
) -> None:
    with pytest.raises(NotAllowed, match="refused"):
        issuers.decode(forge(openid_provider), openid_provider.url)


def test_weak_private_and_foreign_keys_are_left_aside(
    openid_provider: OpenIdProvider, issuers: Issuers
) -> None:
    with warnings.catch_warnings(action="ignore"):
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    openid_provider.documents["/jwks"]["keys"] += [
        weak.as_dict(private=False),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "oct"},
        {"kty": "EC", "crv": "P-256", "kid": "broken"},
        {"kty": "AKP", "kid": "new"},
    ]
    issuers.decode(openid_provider.token(), openid_provider.url)
    with warnings.catch_warnings(action="ignore"):
        token = openid_provider.token(weak, "RS256")
    with pytest.raises(NotAllowed, match="does not publish"):
        issuers.decode(token, openid_provider.url)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"issuer": "https://other.example"}, "calls itself"),
        ({"jwks_uri": "http://192.0.2.1/keys"}, "not an https address"),
        ({"jwks_uri": "file:///etc/passwd"}, "not an https address"),
        ({"token_endpoint": "https://user@host/token"}, "not an https address"),
        ({"jwks_uri": None}, "not what the standard says"),
    ],
)
def test_provider_that_contradicts_the_standard_is_not_used(
    changes: dict[str, Any], why: str, openid_provider: OpenIdProvider, issuers: Issuers
) -> None:
    openid_provider.documents["/.well-known/openid-configuration"] |= changes
    with pytest.raises(Unreachable, match=why):
        issuers.metadata(openid_provider.url)
    assert "/jwks" not in openid_provider.requests


def test_redirect_is_not_followed_and_a_large_answer_not_read(
    openid_provider: OpenIdProvider, issuers: Issuers, seconds: Seconds
) -> None:
    document = openid_provider.documents["/.well-known/openid-configuration"]
    document["jwks_uri"] = f"{openid_provider.url}/authorize?redirect_uri=x&state=y"
    with pytest.raises(Unreachable, match="answered 302"):
        issuers.metadata(openid_provider.url)
    document["jwks_uri"] = f"{openid_provider.url}/large"
    openid_provider.documents["/large"] = b"[" + b" " * 600_000 + b"]"
    seconds.now += 31
    with pytest.raises(Unreachable, match="more than 524288 bytes"):
        issuers.metadata(openid_provider.url)


def test_provider_that_is_down_is_not_asked_by_every_request(
    openid_provider: OpenIdProvider, issuers: Issuers
) -> None:
    openid_provider.documents.clear()
    for _ in range(3):
        with pytest.raises(Unreachable):
            issuers.metadata(openid_provider.url)
    assert len(openid_provider.requests) == 1


@pytest.mark.parametrize("url", ["http://192.0.2.1", "ftp://host", "https://", "x"])
def test_issuer_elsewhere_needs_https(url: str, issuers: Issuers) -> None:
    with pytest.raises(Unreachable, match="not an https address"):
        issuers.metadata(url)
