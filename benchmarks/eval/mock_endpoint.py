"""A model endpoint that costs next to nothing, so that only the evaluator is measured.

    python mock_endpoint.py LATENCY_MS

Prints its port on the first line and serves until its standard input is closed. It says back the
word after `Say back: `, as a whole answer or as a stream. GET /stats: how many calls came in,
when the first one and the last one did (seconds since the epoch), the most at one time.
"""

import asyncio
import contextlib
import json
import re
import sys
import time

WORD = re.compile(rb"Say back: (\w+)(?!.*Say back)", re.DOTALL)
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
STREAMED = re.compile(rb'"stream": ?true')
USAGE = b'"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}'
HEAD = b'{"id":"mock","created":0,"model":"mock","object":'


class Counters:
    """What GET /stats reports."""

    def __init__(self) -> None:
        self.calls = 0
        self.first: float | None = None
        self.last: float | None = None
        self.at_once = 0
        self.most_at_once = 0

    def begin(self) -> None:
        self.calls += 1
        self.last = time.time()
        self.first = self.first or self.last
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)

    def end(self) -> None:
        self.at_once -= 1


class Connection(asyncio.Protocol):
    """One keep-alive connection: requests are answered one after the other."""

    def __init__(self, latency: float, counters: Counters) -> None:
        self._latency = latency
        self._counters = counters
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while True:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length.group(1)) if length else 0)
            if len(self._received) < whole:
                return
            head, body = self._received[:end], self._received[end + 4 : whole]
            self._received = self._received[whole:]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if not head.startswith(b"POST"):
            self._send(self._page(head))
            return
        self._counters.begin()
        asyncio.get_running_loop().call_later(self._latency, self._finish, body)

    def _finish(self, body: bytes) -> None:
        self._counters.end()
        found = WORD.search(body)
        word = found.group(1) if found else b"nothing"
        if STREAMED.search(body):
            self._send(_stream(word), kind=b"text/event-stream")
        else:
            self._send(_completion(word))

    def _page(self, head: bytes) -> bytes:
        if b"/stats" in head.split(b"\r\n")[0]:
            return json.dumps(vars(self._counters)).encode()
        return b'{"object":"list","data":[{"id":"mock","object":"model"}]}'

    def _send(self, body: bytes, kind: bytes = b"application/json") -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s"
            % (kind, len(body), body)
        )


def _completion(word: bytes) -> bytes:
    message = b'{"role":"assistant","content":"%s"}' % word
    choice = b'{"index":0,"message":%s,"finish_reason":"stop","logprobs":null}' % message
    return HEAD + b'"chat.completion","choices":[%s],%s}' % (choice, USAGE)


def _stream(word: bytes) -> bytes:
    delta = b'{"index":0,"delta":{"role":"assistant","content":"%s"},"finish_reason":null}' % word
    stop = b'{"index":0,"delta":{},"finish_reason":"stop"}'
    kind = HEAD + b'"chat.completion.chunk","choices":'
    events = [kind + b"[%s]}" % delta, kind + b"[%s]}" % stop, kind + b"[],%s}" % USAGE, b"[DONE]"]
    return b"".join(b"data: %s\n\n" % event for event in events)


async def serve(latency: float) -> None:
    """Serve on a free loopback port until standard input is closed."""
    loop = asyncio.get_running_loop()
    counters = Counters()
    server = await loop.create_server(
        lambda: Connection(latency, counters), "127.0.0.1", 0, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(float(sys.argv[1]) / 1000))
