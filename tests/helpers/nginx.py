"""Debian's nginx in front of hubs, with the configuration of docs/deploy."""

import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.helpers.certificates import Certificate
from tests.helpers.tools import require

CONFIG = Path(__file__).parents[2] / "docs" / "deploy" / "nginx.conf"
_PLACES = ("10.0.0.11:8480", "10.0.0.12:8480")
_SECONDS = 60
# What Debian's own file has around the sites, with everything in one folder.
_AROUND = """\
{user}
daemon off;
pid {folder}/pid;
error_log {folder}/errors notice;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/requests;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/hub.conf;
}}
"""


def free_port() -> int:
    """A port that nobody has at this moment, nor gets by chance before it is used.

    The kernel gives those from 32768 to who asks for any.
    """
    while True:
        number = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", number)):
            return number


@contextmanager
def nginx_before(
    ports: Sequence[int], folder: Path, certificate: Certificate, port: int
) -> Iterator[None]:
    """Serve `port` with TLS from the hubs on `ports` of this machine, until the block ends."""
    program = require("nginx")
    folder.mkdir()
    (folder / "hub.conf").write_text(_config(ports, certificate, port), encoding="utf-8")
    main = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    main.write_text(_AROUND.format(folder=folder, user=user), encoding="utf-8")
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [program, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(main)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait(process, port, folder / "errors")
        yield
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _config(ports: Sequence[int], certificate: Certificate, port: int) -> str:
    """The file of the documentation with the places of a test."""
    text = CONFIG.read_text(encoding="utf-8")
    changes = {
        **{
            f"server {place} ": f"server 127.0.0.1:{own} "
            for place, own in zip(_PLACES, ports, strict=True)
        },
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/hub/fullchain.pem": str(certificate.cert),
        "/etc/hub/privkey.pem": str(certificate.key),
    }
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError(log.read_text(encoding="utf-8"))
