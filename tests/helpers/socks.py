"""A SOCKS5 proxy (RFC 1928) for which every host is one port of this machine."""

import socket
import socketserver
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_BY_NAME = 3
_CONNECTED = bytes((5, 0, 0, 1, 0, 0, 0, 0, 0, 0))


class SocksProxy:
    """Takes connections without a password; `asked` are the hosts and ports that were named."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                proxy._relay(self.request, port)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def url(self) -> str:
        return f"socks5h://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join(60)
        self._server.server_close()

    def _relay(self, client: socket.socket, port: int) -> None:
        reader = client.makefile("rb")
        _, methods = reader.read(2)
        reader.read(methods)
        client.sendall(bytes((5, 0)))
        *_, kind = reader.read(4)
        if kind == _BY_NAME:
            host = reader.read(reader.read(1)[0]).decode()
        else:
            host = socket.inet_ntoa(reader.read(4))
        self.asked.append(f"{host}:{int.from_bytes(reader.read(2))}")
        with socket.create_connection(("127.0.0.1", port)) as server:
            client.sendall(_CONNECTED)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join(60)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
