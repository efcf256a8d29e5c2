"""What the sandbox of a rollout costs over the official SDK's own time; milliseconds.

    python benchmarks/sandboxes/rollouts.py [COUNT]

The same calls go to a server that answers at once and makes nothing, to a served hub, and through
the gateway of a run to the hub in its process, each with bubblewrap. The first is the SDK's time.
"""

import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.sandboxes import SandboxAccess, SandboxRelay
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from tests.helpers.kills.sandbox_run import open_hub
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.venvs import venv_python
from tests.official.sandbox_hubs import sandbox_hub

RELEASE, AS_OF = "prime-sandboxes==0.2.36", "2026-10-27T00:00:00Z"
"""What environments of `PythonEnv` get."""
ALONE, SERVED, RUN = "a server that answers at once", "a served hub", "the gateway of a run"
_DRIVER = Path(__file__).with_name("drivers") / "sdk_rollouts.py"


class AtOnce(BaseHTTPRequestHandler):
    """Answers of a sandbox that is always there."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.dumps(self._said(self.path.rpartition("/")[2])).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815

    def _said(self, call: str) -> object:
        if call == "exec":
            return {"stdout": "sandbox ready\n", "stderr": "", "exit_code": 0}
        if call == "auth":
            url = f"http://{self.headers['host']}/gateway"
            expires = "2126-01-01T00:00:00Z"
            inside = {"user_ns": "u", "job_id": "j", "gateway_url": url, "expires_at": expires}
            return {**inside, "token": "t", "is_vm": False}
        at = "2026-11-20T10:00:00Z"
        sizes = {"cpuCores": 1, "memoryGB": 1, "diskSizeGB": 5, "gpuCount": 0}
        fields = {"name": "b", "dockerImage": "i", "startCommand": "s", "diskMountPath": "/"}
        times = {"timeoutMinutes": 60, "createdAt": at, "updatedAt": at}
        # The release keeps a token for each sandbox, so each is another one.
        box = call if call != "sandbox" else uuid.uuid4().hex
        return {"id": box, "status": "RUNNING", "vm": False, **fields, **sizes, **times}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def server_at_once() -> Iterator[str]:
    """Its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), AtOnce) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def measure(count: int, folder: Path) -> dict[str, list[float]]:
    """Milliseconds of each rollout, by where it went."""
    own = folder / "own" / "hub"
    access = SandboxAccess(lambda: open_hub(own, "bubblewrap"), "prime-run:1", 5)
    settings = GatewaySettings(hub=lambda say: SandboxRelay(access, say))
    with (
        server_at_once() as at_once,
        sandbox_hub(folder / "served" / "hub") as served,
        ended_supervisor(own),
    ):
        async with Gateway(Endpoint("m", builtin=True), settings=settings) as gate:
            run = gate.base_url.removesuffix("/v1") + "/hub"
            key = served.add_user("ada")
            targets = [(ALONE, at_once, "k"), (SERVED, served.url, key), (RUN, run, gate.token)]
            process = await asyncio.create_subprocess_exec(
                *(str(venv_python(RELEASE, as_of=AS_OF)), str(_DRIVER)),
                *(str(count), json.dumps(targets)),
                stdout=asyncio.subprocess.PIPE,
                env={"HOME": str(folder), "PATH": os.environ["PATH"]},
            )
            out, _ = await asyncio.wait_for(process.communicate(), 600)
    assert process.returncode == 0
    took: dict[str, list[float]] = json.loads(out)
    return took


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} CPUs ({platform.machine()}), load {load:.1f}, {RELEASE}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="prime-rollouts-") as folder:
        took = asyncio.run(measure(count, Path(folder)))
    alone = statistics.median(took[ALONE])
    for name, times in took.items():
        middle = statistics.median(times)
        over = f"   {middle - alone:+8.1f} ms over the SDK's own" if name != ALONE else ""
        print(f"{name:38} p50 {middle:8.1f} ms   most {max(times):8.1f} ms{over}")
    print(f"{count} rollouts of each in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
