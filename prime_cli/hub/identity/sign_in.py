"""Signing in with a provider: authorization code, PKCE, state and nonce.

The browser keeps what the hub must find again, in a cookie that only the hub can open: so it is
that browser which comes back, to any process of the hub, within ten minutes.
"""

import hmac
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from prime_cli.core.errors import NotAllowed, Unreachable, UsageError
from prime_cli.hub.encryption import open_seal
from prime_cli.hub.identity import Fetch, SignInSettings
from prime_cli.hub.identity.issuers import LEEWAY_SECONDS, Issuers
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.tokens import new_token

if TYPE_CHECKING:
    from authlib.oauth2.client import OAuth2Client

SECONDS = 600
_OK = 200
_SCOPE = "openid profile email"


class Identity(msgspec.Struct, frozen=True):
    """Whom a provider vouches for; `username` is a wish, and `email` proves nothing here."""

    issuer: str
    subject: str
    username: str = ""
    name: str = ""
    email: str | None = None


class SignIn(msgspec.Struct, frozen=True):
    """What the cookie holds: of a login (by its `code`), until `ends` (seconds since 1970).

    `state`, `nonce` and `verifier` are of a request that the provider has not answered; then there
    is an `identity`.
    """

    code: str
    ends: int
    state: str = ""
    nonce: str = ""
    verifier: str = ""
    identity: Identity | None = None


class SignInClient:
    """The hub as a client of the provider; its pages return to `redirect_uri`."""

    def __init__(self, settings: HubSettings, issuers: Issuers, redirect_uri: str) -> None:
        if settings.sign_in is None:
            raise UsageError("This hub has no provider to sign in with")
        self._hub = settings
        self.settings: SignInSettings = settings.sign_in
        self._issuers = issuers
        self._redirect_uri = redirect_uri

    def begin(self, code: str) -> tuple[str, SignIn]:
        """Where to send the browser, and what it must bring back; raises Unreachable."""
        begun = SignIn(
            code,
            self._issuers.now() + SECONDS,
            state=new_token(),
            nonce=new_token(),
            verifier=new_token(),
        )
        endpoint = self._issuers.metadata(self.settings.issuer).authorization_endpoint
        if endpoint is None:
            raise Unreachable(f"The provider {self.settings.issuer} lets nobody sign in")
        url, _ = self._client().create_authorization_url(
            endpoint, state=begun.state, code_verifier=begun.verifier, nonce=begun.nonce
        )
        return url, begun

    def finish(self, begun: SignIn, answer: dict[str, str]) -> Identity:
        """Who has signed in, by the query string of the return.

        Raises NotAllowed for a return that was not begun in this browser, for a refusal, and for a
        user that the settings exclude; Unreachable.
        """
        if not begun.state or not hmac.compare_digest(
            begun.state.encode(), answer.get("state", "").encode()
        ):
            raise NotAllowed("This sign-in was not begun in this browser", hint=_AGAIN)
        if answer.get("iss", self.settings.issuer) != self.settings.issuer:
            raise NotAllowed("Another provider answered this sign-in", hint=_AGAIN)
        if "error" in answer or not answer.get("code"):
            why = answer.get("error_description") or answer.get("error") or "no code"
            raise NotAllowed(f"{self.settings.name} refused the sign-in: {why[:200]}", hint=_AGAIN)
        token = self._exchange(begun, answer["code"])
        claims = self._claims(begun, token)
        claims = {**self._userinfo(token, claims["sub"]), **claims}
        self._require_welcome(claims)
        return Identity(
            self.settings.issuer,
            claims["sub"],
            _text(claims, self.settings.username) or _text(claims, "email").partition("@")[0],
            _text(claims, "name"),
            _text(claims, "email") or None,
        )

    def seal(self, value: SignIn) -> str:
        """The cookie."""
        return open_seal(self._hub).seal(msgspec.json.encode(value).decode())

    def unseal(self, cookie: str | None) -> SignIn | None:
        """What a cookie holds; None for one that is missing, foreign, damaged or too old."""
        value = open_seal(self._hub).try_unseal(cookie) if cookie else None
        if value is None:
            return None
        try:
            found = msgspec.json.decode(value, type=SignIn)
        except msgspec.DecodeError:
            return None
        return found if found.ends > self._issuers.now() else None

    def _client(self) -> "OAuth2Client":
        from authlib.oauth2.client import OAuth2Client

        methods = self._issuers.metadata(self.settings.issuer).token_endpoint_auth_methods_supported
        by_post = "client_secret_basic" not in methods and "client_secret_post" in methods
        return OAuth2Client(
            _Session(self._issuers.fetch),
            self.settings.client_id,
            self.settings.client_secret,
            token_endpoint_auth_method=(
                "client_secret_post" if by_post and self.settings.client_secret else None
            ),
            scope=_SCOPE + (" groups" if self.settings.groups else ""),
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
        )

    def _exchange(self, begun: SignIn, code: str) -> dict[str, Any]:
        from authlib.oauth2.base import OAuth2Error

        endpoint = self._issuers.metadata(self.settings.issuer).token_endpoint
        if endpoint is None:
            raise Unreachable(f"The provider {self.settings.issuer} gives no tokens")
        try:
            token = self._client().fetch_token(
                endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=begun.verifier,
            )
        except OAuth2Error as error:
            why = f"{error.description or error.error}"[:200]
            raise NotAllowed(
                f"{self.settings.name} refused the sign-in: {why}", hint=_AGAIN
            ) from error
        return dict(token)

    def _claims(self, begun: SignIn, token: dict[str, Any]) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        given = self._issuers.decode(str(token.get("id_token", "")), self.settings.issuer)
        claims = CodeIDToken(
            given.claims,
            given.header,
            options={
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
                "sub": {"essential": True},
            },
            params={
                "nonce": begun.nonce,
                "client_id": self.settings.client_id,
                "access_token": token.get("access_token"),
            },
        )
        try:
            claims.validate(now=self._issuers.now(), leeway=LEEWAY_SECONDS)
        except JoseError as error:
            raise NotAllowed(f"The token was refused: {error}", hint=_AGAIN) from error
        return dict(claims)

    def _userinfo(self, token: dict[str, Any], subject: str) -> dict[str, Any]:
        """More claims: strict providers put names, addresses and groups only there."""
        endpoint = self._issuers.metadata(self.settings.issuer).userinfo_endpoint
        access = token.get("access_token")
        if endpoint is None or not isinstance(access, str):
            return {}
        status, body = self._issuers.fetch(
            endpoint, headers={"authorization": f"Bearer {access}", "accept": "application/json"}
        )
        try:
            found = msgspec.json.decode(body, type=dict[str, Any]) if status == _OK else {}
        except msgspec.DecodeError:  # a signed answer, which nobody has asked for
            return {}
        # Of another user, by a token that was exchanged (OpenID Connect Core 1.0, 5.3.2).
        return found if found.get("sub") == subject else {}

    def _require_welcome(self, claims: dict[str, Any]) -> None:
        """Raise NotAllowed for a user of no allowed domain or group."""
        domains, groups = self.settings.domains, self.settings.groups
        email = _text(claims, "email") if claims.get("email_verified") is True else ""
        if domains and email.rpartition("@")[2].lower() not in domains:
            raise NotAllowed(
                "This hub lets in only users with a verified address of "
                + " or ".join(sorted(domains)),
                hint="ask the hub's admin",
            )
        theirs = claims.get("groups")
        if groups and not (isinstance(theirs, list) and groups.intersection(map(str, theirs))):
            raise NotAllowed(
                "This hub lets in only members of certain groups", hint="ask the hub's admin"
            )


_AGAIN = "start again from the page of the login"


class _Session:
    """What Authlib sends its requests with."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def post(self, url: str, *, data: dict[str, str], headers: dict[str, str], auth: Any) -> Any:
        """One POST of a form, with the client's credentials."""
        url, headers, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        status, content = self._fetch(url, form=body.encode(), headers=headers)
        return _Answer(url, status, content)


class _Answer:
    """An answer as Authlib reads it."""

    def __init__(self, url: str, status: int, content: bytes) -> None:
        self._url, self.status_code, self._content = url, status, content

    def json(self) -> Any:
        """The body; raises ValueError, which Authlib expects."""
        return json.loads(self._content)

    def raise_for_status(self) -> None:
        """Raise Unreachable: it is called for answers that are no JSON object."""
        raise Unreachable(f"{self._url} answered {self.status_code}")


def _text(claims: dict[str, Any], name: str) -> str:
    """A claim that is meant to be text; `` if it is not there."""
    value = claims.get(name)
    return value[:200] if isinstance(value, str) else ""
