"""An upload that is sent as slowly as a test wants, over a plain socket."""

import socket
from typing import Self
from urllib.parse import urlsplit


class RawUpload:
    """A PUT whose body goes out piece by piece."""

    def __init__(self, url: str, length: int) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 80), 30)
        head = f"PUT {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {length}\r\n"
        self._socket.sendall(f"{head}\r\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.close()

    def send(self, content: bytes) -> None:
        """The next piece of the body."""
        self._socket.sendall(content)

    def status(self) -> int:
        """The status of the answer, once it has come; 0 when the connection just ended."""
        with self._socket.makefile("rb") as answer:
            words = answer.readline().split()
        return int(words[1]) if words else 0
