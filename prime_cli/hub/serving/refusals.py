"""Answers that are given before the application is asked."""

from starlette.types import Send

from prime_cli.core.errors import PrimeError
from prime_cli.wire.codec import encode
from prime_cli.wire.problems import status_of, to_problem

Headers = list[tuple[bytes, bytes]]


async def send_json(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    """A whole answer at once."""
    length = (b"content-length", str(len(body)).encode())
    kind = (b"content-type", b"application/json")
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [kind, length, *(headers or [])],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, error: PrimeError, headers: Headers | None = None) -> None:
    """The problem that `error` is, under the status of its class."""
    await send_json(send, status_of(error), encode(to_problem(error)), headers)
