"""A hub over a socket that answers as a test says, and remembers what it was asked.

with ScriptedHub() as hub:
    hub.answer("GET /user/whoami", {"data": {"id": "user_1"}})
    ... call hub.url ...
    assert hub.seen[0].authorization == "Bearer k"
"""

import json
import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key

API = "/api/v1"


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    call: str
    authorization: str | None
    body: Any


@dataclass(frozen=True)
class Reply:
    """An answer; `body` is bytes, or what is sent as JSON."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answer = Reply | Callable[[Seen], Reply]


class ScriptedHub:
    """Answers `METHOD /path` (below /api/v1, without the query) with what was given for it."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[Seen] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        """The hub's address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(60)
        self._server.server_close()

    def answer(
        self, call: str, body: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        """Say `body` from now on."""
        self.answers[call] = Reply(body, status, headers or {})

    def grant(self, key: str) -> None:
        """Let every login in with `key`, as the public hub does, and know whose it is."""
        self.grant_result(lambda pem: encrypt(pem, key.encode()))
        self.answer("GET /user/whoami", {"data": {"id": "user_1", "slug": "ada"}})
        self.answer("GET /user/teams", {"data": [], "total_count": 0})

    def grant_result(self, result: Callable[[str], Any]) -> None:
        """Let every login in with what `result` makes of the client's public key (PEM)."""
        self.answer(
            "POST /auth_challenge/generate",
            {"challenge": "CB241826", "status_auth_token": "poll-token"},
        )

        def status(_: Seen) -> Reply:
            begun = [each for each in self.seen if each.call.endswith("/generate")]
            return Reply({"result": result(begun[-1].body["encryptionPublicKey"])})

        self.answers["GET /auth_challenge/status"] = status

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                path = self.path.partition("?")[0].removeprefix(API)
                seen = Seen(
                    f"{self.command} {path}",
                    self.headers.get("authorization"),
                    json.loads(body) if body else None,
                )
                hub.seen.append(seen)
                found = hub.answers.get(seen.call, Reply({"detail": "Not Found"}, 404))
                reply = found(seen) if callable(found) else found
                content = (
                    reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                )
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler


def encrypt(pem: str, text: bytes) -> str:
    """base64 of RSA-OAEP (SHA-256), as hubs encrypt keys for clients."""
    key = load_pem_public_key(pem.encode())
    assert isinstance(key, RSAPublicKey)
    return b64encode(key.encrypt(text, OAEP(MGF1(SHA256()), SHA256(), None))).decode()
