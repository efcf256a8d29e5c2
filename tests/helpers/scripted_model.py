"""A model endpoint that answers as the test says: OpenAI's wire format over a real socket.

    with ScriptedModel() as model:                 # echoes the last user message
        model.queue(status(429), "hello")          # then: one 429, one "hello", then echoes again
        ... call model.url + "/chat/completions" ...
        assert model.requests[0].headers["authorization"] == "Bearer key"

Answers are `Reply`s, plain strings, or functions from `Received` to either. Queued answers come
first, in order of arrival; after them `answer` speaks for every call.
"""

import asyncio
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

JSON = dict[str, Any]


@dataclass(frozen=True)
class Received:
    """One request as it came in; header names in lower case, `body` decoded from JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at: float

    @property
    def messages(self) -> list[JSON]:
        return list(self.body.get("messages") or [])

    @property
    def last_user(self) -> str:
        """The text of the newest user message, or of a text completion's prompt."""
        said = [m.get("content") for m in self.messages if m.get("role") == "user"]
        last = said[-1] if said else self.body.get("prompt", "")
        if isinstance(last, list):
            return " ".join(part.get("text", "") for part in last)
        return str(last or "")


@dataclass(frozen=True)
class Reply:
    """What is sent back. `status` other than 200 sends an error body; `raw` replaces any body.

    `model` is what it says answered, by default what was asked for.
    An answer that is `cut` promises more bytes than come before the connection is closed.
    """

    content: str | None = "ok"
    tool_calls: tuple[JSON, ...] = ()
    status: int = 200
    error: JSON | None = None
    headers: dict[str, str] = field(default_factory=dict)
    latency: float = 0.0
    hang: bool = False
    close: bool = False
    cut: bool = False
    raw: bytes | None = None
    finish_reason: str | None = None
    usage: JSON | None = None
    model: str | None = None
    fingerprint: str | None = None


Answer = Reply | str | Callable[[Received], Reply | str]


def echo(request: Received) -> Reply:
    """The last user message, said back."""
    return Reply(request.last_user)


def status(code: int, *, retry_after: float | None = None, message: str | None = None) -> Reply:
    """An error answer in OpenAI's shape."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    text = message or f"scripted {code}"
    error = {"message": text, "type": "scripted", "code": str(code)}
    return Reply(status=code, error=error, headers=headers)


def tool_call(name: str, arguments: JSON, *, id: str = "call_1") -> JSON:  # noqa: A002
    """One entry for `Reply.tool_calls`."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": id, "type": "function", "function": function}


class PerConversation:
    """Answers by what was said so far and by how often that was sent, whoever else is calling.

    `answer` takes the request and the number of earlier ones with the same messages (system
    messages apart, in which programs say where they run). Two programs that ask the same are told
    the same, in whatever order they ask.
    """

    def __init__(self, answer: Callable[[Received, int], Reply | str]) -> None:
        self._answer = answer
        self._seen: Counter[str] = Counter()

    def __call__(self, request: Received) -> Reply | str:
        said = [(m.get("role"), m.get("content")) for m in request.messages]
        key = json.dumps([each for each in said if each[0] != "system"], sort_keys=True)
        count = self._seen[key]
        self._seen[key] += 1
        return self._answer(request, count)


HANG = Reply(hang=True)
BAD_JSON = Reply(raw=b'{"choices": [')
HANG_UP = Reply(close=True)


class ScriptedModel:
    """An OpenAI-compatible server on a loopback port, in a thread of its own.

    `latency` (seconds) is added to every answer; `models` are the names that GET /models lists.
    `most_at_once` is the highest number of calls that were being answered at one time.
    """

    def __init__(
        self,
        answer: Answer = echo,
        *,
        latency: float = 0.0,
        models: tuple[str, ...] = ("scripted",),
    ) -> None:
        self.answer = answer
        self.latency = latency
        self.models = models
        self.requests: list[Received] = []
        self.most_at_once = 0
        self.connections = 0
        self.port = 0
        self._queue: deque[Answer] = deque()
        self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="scripted-model", daemon=True)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """The base URL as `-b` takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> list[Received]:
        """The requests that asked for a completion (not `/models`)."""
        return [r for r in self.requests if r.method == "POST"]

    def queue(self, *answers: Answer) -> None:
        """Answer the next calls with these, one each."""
        self._queue.extend(answers)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise TimeoutError("the scripted model did not start")
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        current = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                try:
                    await self._respond(request, writer)
                finally:
                    self._at_once -= 1
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller hung up, or the server is closing
        finally:
            writer.close()

    async def _respond(self, request: Received, writer: asyncio.StreamWriter) -> None:
        if request.method == "GET":
            listed = [{"id": name, "object": "model"} for name in self.models]
            await _send(writer, 200, {"object": "list", "data": listed})
            return
        reply = self._reply_to(request)
        if reply.hang:
            await asyncio.sleep(3600)
        if delay := self.latency + reply.latency:
            await asyncio.sleep(delay)
        if reply.close:
            writer.close()
        elif reply.raw is not None:
            await _send_bytes(writer, reply.status, reply.raw, reply.headers, cut=reply.cut)
        elif reply.status != 200:
            await _send(writer, reply.status, {"error": reply.error or {}}, reply.headers)
        elif request.body.get("stream"):
            await _stream(writer, request, reply)
        else:
            await _send(writer, 200, _completion(request, reply), reply.headers)

    def _reply_to(self, request: Received) -> Reply:
        answer = self._queue.popleft() if self._queue else self.answer
        said = answer(request) if callable(answer) else answer
        return Reply(said) if isinstance(said, str) else said


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, value = line.decode().split(":", 1)
        headers[name.strip().lower()] = value.strip()
    body = await _read_body(reader, headers)
    return Received(method, path, headers, json.loads(body or b"{}"), time.monotonic())


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int((await reader.readline()).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def _words(text: object) -> int:
    return len(str(text or "").split())


def _usage(request: Received, reply: Reply) -> JSON:
    if reply.usage is not None:
        return reply.usage
    asked = sum(_words(m.get("content")) for m in request.messages) or _words(request.last_user)
    said = _words(reply.content)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _head(request: Received, reply: Reply, kind: str) -> JSON:
    model = reply.model or request.body.get("model", "scripted")
    head = {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": model}
    return head | ({"system_fingerprint": reply.fingerprint} if reply.fingerprint else {})


def _completion(request: Received, reply: Reply) -> JSON:
    reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    if "/chat/" not in request.path:
        choice: JSON = {"index": 0, "text": reply.content, "finish_reason": reason}
        kind = "text_completion"
    else:
        message: JSON = {"role": "assistant", "content": reply.content}
        if reply.tool_calls:
            message["tool_calls"] = list(reply.tool_calls)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        kind = "chat.completion"
    choice["logprobs"] = None
    return _head(request, reply, kind) | {"choices": [choice], "usage": _usage(request, reply)}


def _chunks(request: Received, reply: Reply) -> Iterator[JSON]:
    head = _head(request, reply, "chat.completion.chunk")
    reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    words = (reply.content or "").split(" ") if reply.content else []
    deltas: list[JSON] = [{"role": "assistant", "content": None}]
    deltas += [{"content": word if n == 0 else f" {word}"} for n, word in enumerate(words)]
    deltas += [{"tool_calls": [dict(c, index=n)]} for n, c in enumerate(reply.tool_calls)]
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield head | {"choices": [], "usage": _usage(request, reply)}


async def _stream(writer: asyncio.StreamWriter, request: Received, reply: Reply) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    events = [json.dumps(chunk) for chunk in _chunks(request, reply)] + ["[DONE]"]
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _send(
    writer: asyncio.StreamWriter, code: int, body: JSON, headers: dict[str, str] | None = None
) -> None:
    await _send_bytes(writer, code, json.dumps(body).encode(), headers or {})


async def _send_bytes(
    writer: asyncio.StreamWriter,
    code: int,
    body: bytes,
    headers: dict[str, str],
    *,
    cut: bool = False,
) -> None:
    lines = [f"HTTP/1.1 {code} Scripted", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"content-length: {len(body) + 100 * cut}", "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
    if cut:
        writer.close()
