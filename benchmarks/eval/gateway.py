"""CPU of the gateway per model call, of one or more checkouts in turn.

    python benchmarks/eval/gateway.py [--calls 5000] [--concurrency 32] [--rounds 5] CHECKOUT ...

Each round drives every checkout's gateway with the same calls against the same mock endpoint, one
right after the other (paired, so that other load on the machine meets all), and prints CPU
microseconds a call of the gateway's process alone; the last line has the medians. `.` is this
checkout; `git worktree add FOLDER COMMIT` makes another.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SERVE = """
import asyncio, inspect, sys, tempfile, time
from pathlib import Path
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings

async def main():
    shared = {}
    if "limits_folder" in inspect.signature(GatewaySettings).parameters:
        shared["limits_folder"] = Path(tempfile.mkdtemp())
    endpoint, settings = Endpoint("mock", sys.argv[1]), GatewaySettings(**shared)
    async with Gateway(endpoint, environ={}, settings=settings) as gate:
        print(gate.base_url, gate.token, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(time.process_time(), flush=True)

asyncio.run(main())
"""
BODY = json.dumps(
    {"model": "mock", "messages": [{"role": "user", "content": "Say back: word"}]}
).encode()


@contextmanager
def running(*argv: str, cwd: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    """A process until its standard input is closed."""
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=cwd
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)


async def call(base_url: str, token: str, calls: int, concurrency: int) -> None:
    """So many calls, each of another rollout, over connections that are kept."""
    parts = urlsplit(base_url)
    numbers = iter(range(calls))

    async def one() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for number in numbers:
            head = (
                f"POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n"
                f"authorization: Bearer {token}\r\ncontent-type: application/json\r\n"
                f"x-prime-example: {number}\r\nx-prime-rollout: 0\r\nx-prime-attempt: 1\r\n"
                f"x-prime-role: policy\r\ncontent-length: {len(BODY)}\r\n\r\n"
            )
            writer.write(head.encode() + BODY)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            length = answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    await asyncio.gather(*(one() for _ in range(concurrency)))


def cpu_of(process: "subprocess.Popen[str]") -> float:
    """CPU seconds that a gateway's process has used."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def measure(checkout: Path, endpoint: str, calls: int, concurrency: int) -> float:
    """Microseconds a call."""
    with running(sys.executable, "-c", SERVE, endpoint, cwd=checkout) as gateway:
        assert gateway.stdout is not None
        base_url, token = gateway.stdout.readline().split()
        asyncio.run(call(base_url, token, calls // 10, concurrency))
        before = cpu_of(gateway)
        asyncio.run(call(base_url, token, calls, concurrency))
        return (cpu_of(gateway) - before) / calls * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="CPU of the gateway per call")
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    mock = str(Path(__file__).with_name("mock_endpoint.py"))
    found: dict[Path, list[float]] = {checkout: [] for checkout in options.checkouts}
    started = time.time()
    for _ in range(options.rounds):
        with running(sys.executable, mock, "0") as endpoint:
            assert endpoint.stdout is not None
            url = f"http://127.0.0.1:{endpoint.stdout.readline().strip()}/v1"
            for checkout, costs in found.items():
                costs.append(measure(checkout, url, options.calls, options.concurrency))
        print("  ".join(f"{costs[-1]:7.1f}" for costs in found.values()), flush=True)
    print("  ".join(f"{statistics.median(costs):7.1f}" for costs in found.values()), "median")
    print(f"{time.time() - started:.0f} s, calls at a time: {options.concurrency}")


if __name__ == "__main__":
    main()
