"""`prime hub serve` as a process on a free port of this machine, with the key of its admin."""

import os
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx

from prime_cli.hub.serving.server import ADMIN_KEY
from tests.helpers.cli import COMMAND

_VARIABLE = re.compile(r"export (\w+)=(\S*)")
_SECONDS = 120


@dataclass
class ServedHub:
    """A hub that runs; `variables` are what it told a client to set, the admin's key among them."""

    process: "subprocess.Popen[bytes]"
    url: str
    variables: dict[str, str]
    out: Path
    err: Path

    @property
    def key(self) -> str:
        """The admin's key; only the first start on a folder has one."""
        return self.variables["PRIME_API_KEY"]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(_SECONDS)

    @property
    def children(self) -> list[int]:
        """The ids of the processes that it has started (Linux): its workers, and Python's own."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(
            encoding="utf-8"
        )
        return [int(pid) for pid in listed.split()]

    def kill(self) -> None:
        """`kill -9` to all of its processes at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(_SECONDS)

    def client(self, key: str | None = None) -> httpx.Client:
        """A plain client, as the admin unless `key` says otherwise; an empty one is nobody."""
        key = self.variables.get("PRIME_API_KEY", "") if key is None else key
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False, timeout=120)


@contextmanager
def serve(
    data: Path,
    *argv: str,
    env: Mapping[str, str] | None = None,
    verify: ssl.SSLContext | bool = True,
    within: Sequence[str] = (),
) -> Iterator[ServedHub]:
    """Run `prime hub serve --data DATA --port 0 ARGV` until the block ends.

    `env` is added to the test's own; `verify` is the certificate to trust, if it has TLS; `within`
    is a command that becomes the one behind it.
    """
    data.parent.mkdir(parents=True, exist_ok=True)
    out, err = data.with_name(f"{data.name}.out"), data.with_name(f"{data.name}.err")
    # What a hub that is killed leaves there goes with the test.
    scratch = data.with_name(f"{data.name}.tmp")
    scratch.mkdir(exist_ok=True)
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [*within, *COMMAND, "hub", "serve", "--data", str(data), "--port", "0", *argv],
            env={**os.environ, "TMPDIR": str(scratch), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            # A group of its own, so that its workers can be killed with it.
            start_new_session=True,
        )
    try:
        variables = _wait_for_start(process, data, out, err)
        url = variables["PRIME_API_BASE_URL"]
        _wait_for_answer(process, url, err, verify)
        yield ServedHub(process, url, variables, out, err)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_start(
    process: "subprocess.Popen[bytes]", data: Path, out: Path, err: Path
) -> dict[str, str]:
    """The variables that it prints, on stdout at its first start, else on stderr; and the key."""
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        variables = dict(
            _VARIABLE.findall(out.read_text(encoding="utf-8") or err.read_text(encoding="utf-8"))
        )
        if "PRIME_TRACES_OPT_OUT" in variables:
            key = variables.pop("PRIME_API_KEY")
            if key != "...":
                variables["PRIME_API_KEY"] = _read_key(process, data / ADMIN_KEY)
            return variables
        time.sleep(0.02)
    raise AssertionError(f"The hub did not start:\n{err.read_text(encoding='utf-8')}")


def _read_key(process: "subprocess.Popen[bytes]", file: Path) -> str:
    """The admin's key, also from a file system that only the hub's process sees."""
    if not file.exists():
        file = Path(f"/proc/{process.pid}/root{file}")
    return file.read_text(encoding="utf-8").strip()


def _wait_for_answer(
    process: "subprocess.Popen[bytes]", url: str, err: Path, verify: ssl.SSLContext | bool
) -> None:
    deadline = time.monotonic() + _SECONDS
    with httpx.Client(trust_env=False, verify=verify) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                answer = client.get(f"{url}/api/v1/capabilities")
            except httpx.TransportError:
                time.sleep(0.02)
            else:
                # As a proxy says while the first server behind it starts.
                if answer.status_code != HTTPStatus.BAD_GATEWAY:
                    answer.raise_for_status()
                    return
                time.sleep(0.02)
    raise AssertionError(f"The hub did not answer:\n{err.read_text(encoding='utf-8')}")
