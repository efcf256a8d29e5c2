"""What recording costs: prime's rollout service beside the proxies of its peers, in one run.

    python benchmarks/rollouts/run.py [--rollouts 1024] [--at-once 512] [--tokens 128] [--rounds 3]
        [--agent-lightning PYTHON] [--openenv PYTHON]

Every contestant stands between the same client and the same scripted endpoint, which answers with
token ids and log-probabilities. A rollout is two turns; after it its ids are fetched as a trainer
would. CPU milliseconds a call are those of the contestant's process alone. `prime rollouts serve`
does it all: its worker, in a process of its own, runs an environment of verifiers 0.1.14.

    uv venv --python 3.12 al && uv pip install --python al/bin/python agentlightning
    uv venv --python 3.12 oe && uv pip install --python oe/bin/python openenv
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

HERE = Path(__file__).parent
CONTESTANTS = HERE / "contestants"
TURNS = 2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """Of `calls` calls: CPU milliseconds a call, of worker processes too, and rollouts a second."""

    cpu_ms: float
    rollouts_per_s: float
    worker_ms: float | None = None


@dataclass(frozen=True)
class Target:
    """Where the calls of one rollout go, and where its tokens are afterwards."""

    path: str
    headers: dict[str, str]
    fetch: str | None = None


@contextmanager
def running(*argv: str, log: Path, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """A process until its standard input is closed."""
    with log.open("ab") as err:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            encoding="utf-8",
            env={**os.environ, **variables},
        )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.terminate()
        process.wait(30)


def said(process: "subprocess.Popen[str]", start: str = "http") -> list[str]:
    """The words of the first line that begins so; others log to stdout as well."""
    assert process.stdout is not None
    return next(line.split() for line in process.stdout if line.startswith(start))


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used itself."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def children_of(pid: int) -> list[int]:
    """The descendants of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    own = [int(child) for task in tasks for child in task.read_text(encoding="utf-8").split()]
    return own + [deeper for child in own for deeper in children_of(child)]


# --- Proxies: the client calls them as an environment would ---


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Callable[..., object]]:
    """`ask(path, headers, body)` over one connection that is kept; returns the body."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)

    async def ask(path: str, headers: dict[str, str], body: bytes | None = None) -> bytes:
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", "host: proxy"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["content-type: application/json", f"content-length: {len(body or b'')}"]
        writer.write("\r\n".join([*lines, "\r\n"]).encode() + (body or b""))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        assert head.split(b" ", 2)[1][:1] == b"2", (head, answer[:500])
        return answer

    yield ask
    writer.close()


async def drive(url: str, targets: list[Target], at_once: int, tokens: int) -> None:
    """Run the rollouts, so many at a time, and fetch the tokens of each."""
    waiting = iter(targets)

    async def one() -> None:
        async with connected(url) as ask:
            for target in waiting:
                messages = [{"role": "user", "content": "begin"}]
                for _ in range(TURNS):
                    body = json.dumps({"model": "policy", "messages": messages}).encode()
                    await ask(target.path, target.headers, body)  # type: ignore[misc]
                    messages.append({"role": "assistant", "content": "a" * tokens})
                    messages.append({"role": "user", "content": "go on"})
                if target.fetch is not None:
                    found = await ask(target.fetch, {})  # type: ignore[misc]
                    assert found.count(b"token_ids") >= TURNS

    await asyncio.gather(*(one() for _ in range(at_once)))


def prime_targets(token: str, first: int, count: int) -> list[Target]:
    """Rollouts of prime's gateway, told apart by headers."""
    kept = {"authorization": f"Bearer {token}", "x-prime-role": "policy", "x-prime-attempt": "1"}
    return [
        Target(
            "/v1/chat/completions",
            {**kept, "x-prime-example": str(number), "x-prime-rollout": "0"},
        )
        for number in range(first, first + count)
    ]


def post(url: str, body: object) -> object:
    """A request of the setting up."""

    async def ask() -> object:
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
            assert response.ok, await response.text()
            return await response.json()

    return asyncio.run(ask())


def lightning_targets(url: str, count: int) -> list[Target]:
    """New rollouts of Agent Lightning."""
    rollouts = post(f"{url}/api/rollouts", [{"input": {}}] * count)
    assert isinstance(rollouts, list)
    return [
        Target(
            f"/proxy/rollout/{each['rollout_id']}/attempt/0/mode/train/openai/v1/chat/completions",
            {},
            f"/api/rollouts/{each['rollout_id']}/events?format=triplet",
        )
        for each in rollouts
    ]


def openenv_targets(url: str, count: int) -> list[Target]:
    """New sessions of OpenEnv's capture."""

    async def begin() -> list[Target]:
        found = []
        async with aiohttp.ClientSession() as client:
            for _ in range(count):
                async with client.post(f"{url}/sessions", json={}) as response:
                    session = await response.json()
                    key = str(session.get("session_id"))
                    header = {"authorization": f"Bearer {key}"}
                    path = f"/sessions/{key}/trace_entries"
                    found.append(Target("/v1/chat/completions", header, path))
        return found

    return asyncio.run(begin())


def measure_proxy(name: str, python: str, policy: str, options: argparse.Namespace) -> Measured:
    """One round of a proxy."""
    program = str(CONTESTANTS / f"{name}.py")
    with running(python, program, policy, log=options.log) as process:
        url, *token = said(process)

        def targets(first: int, count: int) -> list[Target]:
            if name == "prime_gateway":
                return prime_targets(token[0], first, count)
            return (lightning_targets if name == "agent_lightning" else openenv_targets)(url, count)

        def run(found: list[Target]) -> float:
            began = time.monotonic()
            asyncio.run(drive(url, found, options.at_once, options.tokens))
            return time.monotonic() - began

        time.sleep(1.0)  # the servers of others listen a little later
        run(targets(0, options.at_once))
        found = targets(options.at_once, options.rollouts)
        before = cpu_of(process.pid)
        seconds = run(found)
        cpu = cpu_of(process.pid) - before
    return Measured(cpu / (options.rollouts * TURNS) * 1000, options.rollouts / seconds)


# --- The whole service ---


async def ask_rollouts(url: str, token: str, count: int, group: int = 8) -> int:
    """Ask for so many rollouts at once in groups; returns how many had what they must have."""
    header = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=600)

    async def ask(client: aiohttp.ClientSession, number: int) -> int:
        body = {"example": number % 64, "n": group}
        async with client.post(f"{url}/rollouts", json=body) as response:
            lines = [json.loads(line) async for line in response.content]
            return sum(len(line["segments"][0]["spans"]) == TURNS for line in lines)

    async with aiohttp.ClientSession(
        headers=header, connector=connector, timeout=timeout, read_bufsize=2**24
    ) as client:
        return sum(await asyncio.gather(*(ask(client, n) for n in range(count // group))))


def measure_service(policy: str, options: argparse.Namespace, folder: Path) -> Measured:
    """One round of `prime rollouts serve`, from its command line."""
    words = ("rollouts", "serve", str(HERE / "environment"), "-m", "policy", "-b", policy, "--yes")
    argv = [sys.executable, "-m", "prime_cli", *words, "-c", str(options.at_once)]
    variables = {"HOME": str(folder), "PRIME_HOME": str(folder / "prime")}
    with running(
        *argv, "--workers", str(options.workers), "--output-dir", str(folder), log=options.log,
        **variables,
    ) as process:  # fmt: skip
        url = said(process, "export")[1].partition("=")[2]
        token = said(process, "export")[1].partition("=")[2].strip("'")
        asyncio.run(ask_rollouts(url, token, options.at_once))
        workers = children_of(process.pid)
        before, of_workers = cpu_of(process.pid), sum(map(cpu_of, workers))
        began = time.monotonic()
        done = asyncio.run(ask_rollouts(url, token, options.rollouts))
        seconds = time.monotonic() - began
        assert done == options.rollouts, f"{done} of {options.rollouts} rollouts are whole"
        calls = options.rollouts * TURNS
        cpu = (cpu_of(process.pid) - before) / calls * 1000
        return Measured(
            cpu, options.rollouts / seconds, (sum(map(cpu_of, workers)) - of_workers) / calls * 1000
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What recording rollouts costs")
    parser.add_argument("--rollouts", type=int, default=1024)
    parser.add_argument("--at-once", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--latency", type=float, default=0.0, help="of the endpoint, in ms")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agent-lightning", metavar="PYTHON")
    parser.add_argument("--openenv", metavar="PYTHON")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="prime-rollouts-"))
    options.log = folder / "log"
    proxies = {"prime_gateway": sys.executable}
    if options.agent_lightning:
        proxies["agent_lightning"] = options.agent_lightning
    if options.openenv:
        proxies["openenv_capture"] = options.openenv
    found: dict[str, list[Measured]] = {}

    def note(name: str, measured: Measured) -> None:
        found.setdefault(name, []).append(measured)
        print(f"  {name}: {measured.cpu_ms:.2f} ms, load {os.getloadavg()[0]:.1f}", flush=True)

    for _ in range(options.rounds):
        endpoint = (sys.executable, str(HERE / "endpoint.py"), str(options.latency))
        with running(*endpoint, str(options.tokens), log=options.log) as server:
            policy = f"http://127.0.0.1:{said(server, '')[0]}/v1"
            for name, python in proxies.items():
                note(name, measure_proxy(name, python, policy, options))
            note("prime rollouts serve", measure_service(policy, options, folder))
    print(f"{'':22} {'ms a call':>10} {'worker ms':>10} {'rollouts/s':>11}")
    for name, rounds in found.items():
        cpu = statistics.median(each.cpu_ms for each in rounds)
        rate = statistics.median(each.rollouts_per_s for each in rounds)
        workers = [each.worker_ms for each in rounds if each.worker_ms is not None]
        worker = f"{statistics.median(workers):10.2f}" if workers else f"{'':10}"
        print(f"{name:22} {cpu:10.2f} {worker} {rate:11.0f}")
    sizes = f"{options.at_once} at once, {options.tokens} tokens, {options.latency:g} ms"
    print(f"{options.rounds} rounds, {sizes}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
