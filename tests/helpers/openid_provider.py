"""A provider of OpenID Connect on a socket of this machine, whose keys are made on the spot."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key


@cache
def make_key(kid: str) -> ECKey:
    """The private key of that name."""
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig", "alg": "ES256"})


@dataclass
class OpenIdProvider:
    """The server, and what it says; `claims` are those of whoever signs in.

    `requests` are the paths asked for, `queries` the last query of each, and `tokens` the forms
    that its token endpoint got with their `authorization`.
    """

    url: str
    claims: dict[str, Any] = field(default_factory=dict)
    key: ECKey = field(default_factory=lambda: make_key("first"))
    documents: dict[str, Any] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    queries: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: list[dict[str, str]] = field(default_factory=list)
    token_changes: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.publish(self.key)
        self.documents["/.well-known/openid-configuration"] = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
        }

    def publish(self, *keys: Key) -> None:
        """Serve these keys, without their private parts."""
        self.documents["/jwks"] = {"keys": [key.as_dict(private=False) for key in keys]}

    def token(self, key: Key | None = None, algorithm: str = "ES256", **claims: Any) -> str:
        """A signed token; a claim that is None is left out."""
        now = int(self.clock())
        given = {"iss": self.url, "iat": now, "exp": now + 300, **claims}
        key = key or self.key
        header = {"alg": algorithm, "kid": key.kid}
        said = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(header, said, key, algorithms=[algorithm])

    def authorize(self, query: str) -> str:
        """Where the browser goes at once, as one whose user has signed in before."""
        self.asked = dict(parse_qsl(query))
        back = {"code": "the-code", "state": self.asked["state"]}
        return f"{self.asked['redirect_uri']}?{urlencode(back)}"

    def answer_token(self, body: str, authorization: str) -> tuple[int, Any]:
        """The answer of the token endpoint, which holds the client to PKCE."""
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self.tokens.append({**form, "authorization": authorization})
        if form.get("code") != "the-code" or "code_verifier" not in form:
            return 400, {"error": "invalid_grant", "error_description": "no such code"}
        claims = {
            "aud": self.asked["client_id"],
            "nonce": self.asked["nonce"],
            **self.claims,
            **self.token_changes,
        }
        return 200, {"access_token": "at", "token_type": "Bearer", "id_token": self.token(**claims)}


@pytest.fixture
def openid_provider() -> Iterator[OpenIdProvider]:
    """A provider that serves until the test ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            provider.requests.append(parts.path)
            provider.queries[parts.path] = dict(parse_qsl(parts.query))
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("location", provider.authorize(parts.query))
                self.send_header("content-length", "0")
                self.end_headers()
                return
            document = provider.documents.get(parts.path)
            self._send(404 if document is None else 200, document)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            authorization = self.headers.get("authorization", "")
            self._send(*provider.answer_token(body, authorization))

        def _send(self, status: int, document: Any) -> None:
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = OpenIdProvider(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield provider
        server.shutdown()
        thread.join()
