"""The rollout service as a trainer asks it, and a policy that the trainer serves to it."""

import asyncio
import http.client
import itertools
import json
import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

JSON = dict[str, Any]


class RefusedError(RuntimeError):
    """The service refused a request, or its answer broke off."""


@dataclass(frozen=True)
class Row:
    """One row to train on: a prompt, and what followed it.

    `mask` is 1 for the tokens of the response that the policy sampled, 0 for the environment's,
    whose log-probabilities are 0.0.
    """

    prompt: list[int]
    response: list[int]
    mask: list[int]
    logprobs: list[float]


def row_of(segment: JSON) -> Row:
    """A segment of a rollout as a row."""
    begin = segment["spans"][0][0]
    mask = [0] * len(segment["ids"])
    for start, end, *_ in segment["spans"]:
        mask[start:end] = [1] * (end - start)
    return Row(
        segment["ids"][:begin], segment["ids"][begin:], mask[begin:], segment["logprobs"][begin:]
    )


class RolloutService:
    """That of PRIME_ROLLOUTS_URL and PRIME_ROLLOUTS_TOKEN; raises RefusedError or OSError."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._url = urlsplit(url or os.environ["PRIME_ROLLOUTS_URL"])
        self._token = token or os.environ["PRIME_ROLLOUTS_TOKEN"]

    def environment(self) -> JSON:
        """What rollouts can be asked for; waits until the environment is loaded."""
        found: JSON = json.loads(self._send("GET", "environment"))
        return found

    def examples(self) -> list[int]:
        """The numbers of the examples."""
        found = self.environment()
        return list(found["numbers"] or range(found["examples"]))

    def rollouts(self, example: int, n: int = 1, **ask: Any) -> list[JSON]:
        """`n` rollouts of an example, scored together; `ask` are further keys of the request."""
        said = self._send("POST", "rollouts", {"example": example, "n": n, **ask})
        found = [json.loads(line) for line in said.splitlines()]
        broken = next((line for line in found if "rollout" not in line), None)
        if broken is not None or len(found) != n:
            raise RefusedError((broken or {}).get("error", "the answer of the service broke off"))
        return found

    async def ask(self, example: int, n: int = 1, **ask: Any) -> list[JSON]:
        """The same on a thread: the trainer's loop has to answer the policy's calls meanwhile."""
        return await asyncio.to_thread(self.rollouts, example, n, **ask)

    def _send(self, method: str, path: str, body: Any = None) -> bytes:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port)
        headers = {"Authorization": f"Bearer {self._token}"}
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, f"{self._url.path}/{path}", content, headers)
            response = connection.getresponse()
            said = response.read()
        finally:
            connection.close()
        if response.status != HTTPStatus.OK:
            raise RefusedError(f"{method} /{path}: {said.decode('utf-8', 'replace')}")
        return said


@dataclass(frozen=True)
class Sampled:
    """One answer of the policy: the tokens of its prompt, its own, and the message they are."""

    prompt: list[int]
    ids: list[int]
    logprobs: list[float]
    message: JSON
    finish_reason: str


Answer = Callable[[JSON], Awaitable[Sampled]]
"""Answers the body of a chat completion."""


class PolicyServer:
    """Serves policies of this process on loopback, with token ids, in vLLM's format.

    Answers run on the loop that `serving` was called on.
    """

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(24)
        self._answers: dict[str, tuple[Answer, asyncio.AbstractEventLoop]] = {}
        self._numbers = itertools.count()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @contextmanager
    def serving(self, answer: Answer, version: int = 0) -> Iterator[JSON]:
        """The `policy` of an ask whose calls are answered by `answer` while the context is open."""
        name = str(next(self._numbers))
        self._answers[name] = (answer, asyncio.get_running_loop())
        host, port = self._server.server_address[:2]
        url = f"http://{host!s}:{port}/{name}/v1"
        try:
            yield {"url": url, "model": "policy", "version": version, "api_key": self.key}
        finally:
            del self._answers[name]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = self.headers.get("Authorization", "").removeprefix("Bearer ")
                if not secrets.compare_digest(key, server.key):
                    self._reply(HTTPStatus.UNAUTHORIZED, _error("this key is not known"))
                    return
                self._reply(*server._answered(self.path, body))

            def _reply(self, status: int, said: JSON) -> None:
                content = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nothing: the gateway of prime keeps count."""

        return Handler

    def _answered(self, path: str, body: bytes) -> tuple[int, JSON]:
        name, _, rest = path.lstrip("/").partition("/")
        if rest != "v1/chat/completions" or name not in self._answers:
            return HTTPStatus.NOT_FOUND, _error(f"there is no {path}")
        answer, loop = self._answers[name]
        request: JSON = json.loads(body)
        try:
            found = asyncio.run_coroutine_threadsafe(_awaited(answer, request), loop).result()
        except (TypeError, ValueError) as error:  # which is the same each time
            return HTTPStatus.BAD_REQUEST, _error(str(error))
        except Exception as error:  # noqa: BLE001 - the trainer's own; prime tries again
            return HTTPStatus.INTERNAL_SERVER_ERROR, _error(f"{type(error).__name__}: {error}")
        return HTTPStatus.OK, _completion(found, request)


async def _awaited(answer: Answer, request: JSON) -> Sampled:
    return await answer(request)


def _error(message: str) -> JSON:
    return {"error": {"message": message}}


def _completion(found: Sampled, request: JSON) -> JSON:
    tokens: list[JSON] = [
        {"token": f"token_id:{token}", "logprob": logprob, "bytes": None, "top_logprobs": []}
        for token, logprob in zip(found.ids, found.logprobs, strict=True)
    ]
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", "policy"),
        "prompt_token_ids": found.prompt,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", **found.message},
                "finish_reason": found.finish_reason,
                "logprobs": {"content": tokens},
                "token_ids": found.ids,
            }
        ],
        "usage": {
            "prompt_tokens": len(found.prompt),
            "completion_tokens": len(found.ids),
            "total_tokens": len(found.prompt) + len(found.ids),
        },
    }


def length_of(request: JSON, most: int) -> int:
    """How many tokens a call may sample, at most `most`."""
    wanted = request.get("max_completion_tokens") or request.get("max_tokens") or most
    return max(1, min(int(wanted), most))
