"""A server of a policy in vLLM's dialect that costs next to nothing: every answer is prepared.

    python endpoint.py LATENCY_MS TOKENS

Prints its port on the first line and serves until its standard input is closed. A message is TOKENS
tokens, and so is an answer, whose ids come with log-probabilities. A later turn continues the
tokens of the earlier ones.
"""

import asyncio
import contextlib
import json
import re
import sys
from functools import lru_cache

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
ROLE = re.compile(rb'"role"')


class Connection(asyncio.Protocol):
    """One keep-alive connection: requests are answered one after the other."""

    def __init__(self, latency: float, tokens: int) -> None:
        self._latency = latency
        self._tokens = tokens
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length.group(1)) if length else 0)
            if len(self._received) < whole:
                return
            body = self._received[end + 4 : whole]
            self._received = self._received[whole:]
            answer = completion(len(ROLE.findall(body)), self._tokens)
            asyncio.get_running_loop().call_later(self._latency, self._send, answer)

    def _send(self, answer: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(answer)


@lru_cache(maxsize=64)
def completion(messages: int, tokens: int) -> bytes:
    """The answer to so many messages, as bytes on the wire."""
    start = messages * tokens
    ids = range(start, start + tokens)
    logprobs = [
        {"token": f"token_id:{each}", "logprob": -each / 1024, "bytes": [97], "top_logprobs": []}
        for each in ids
    ]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "a" * tokens, "tool_calls": []},
        "finish_reason": "stop",
        "logprobs": {"content": logprobs},
        "token_ids": list(ids),
        "stop_reason": None,
    }
    usage = {"prompt_tokens": start, "completion_tokens": tokens, "total_tokens": start + tokens}
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "policy",
            "prompt_token_ids": list(range(start)),
            "choices": [choice],
            "usage": usage,
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def serve(latency: float, tokens: int) -> None:
    """Serve on a free loopback port until standard input is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(latency, tokens), "127.0.0.1", 0, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(float(sys.argv[1]) / 1000, int(sys.argv[2])))
