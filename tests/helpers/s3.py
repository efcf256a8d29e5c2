"""A real S3 server on this machine: moto's, as a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

BUCKET = "blobs-of-a-hub"

# Ends with the process that started it, however that ends.
_SERVER = """
import os, sys, threading
from moto.server import main
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
main(["-H", "127.0.0.1", "-p", "0"])
"""
_ADDRESS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True)
class S3Server:
    """Where the server is, and the variables that an S3 client needs for it."""

    url: str

    @property
    def environ(self) -> dict[str, str]:
        return aws_variables(self.url)


def aws_variables(url: str) -> dict[str, str]:
    """The AWS_* variables for the S3 server at `url`."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
    }


@contextmanager
def run_s3() -> Iterator[S3Server]:
    """Start a server with one empty bucket; ended with the block."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", _SERVER],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**os.environ, "TMPDIR": folder},
            )
        try:
            server = S3Server(_address(process, log))
            make_bucket(server.url)
            yield server
        finally:
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One server for all tests of this process; what they keep there is under their own prefix."""
    with run_s3() as server:
        yield server


def make_bucket(url: str, name: str = BUCKET) -> None:
    """Make a bucket on the server at `url`, which believes every key."""
    address = urlsplit(url).netloc
    connection = HTTPConnection(address, timeout=120)
    authorization = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request"
    connection.request("PUT", f"/{name}", headers={"authorization": authorization})
    status = connection.getresponse().status
    connection.close()
    assert status == 200


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        if found := _ADDRESS.search(log.read_text(encoding="utf-8", errors="replace")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(
        f"The S3 server did not start:\n{log.read_text(encoding='utf-8', errors='replace')}"
    )
