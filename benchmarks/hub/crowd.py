"""Many clients that publish, read and list at once: times, errors and memory of the hub.

    python benchmarks/hub/crowd.py [--clients 200] [--seconds 180] CHECKOUT [CHECKOUT ...]

Serves each checkout (with its own `.venv`) in turn, by `prime hub serve` with its defaults but
without limits of rates and uploads. Every client, a thread, publishes versions of an environment of
its own (six requests each), then reads its index page, its status and the list with the key, and
thinks for a second. Milliseconds are of single requests, seen by the clients, which share the
machine.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import quantiles

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.hub.pushing import HUB, Push

THOUGHT_SECONDS = 1.0
_MIB = 2**20


class Answers:
    """Milliseconds of requests by kind, and what went wrong."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.wrong: Counter[str] = Counter()
        self.rounds = 0

    def client(self, url: str, key: str) -> httpx.Client:
        """A client whose requests are counted here."""
        return httpx.Client(
            base_url=url,
            headers={"authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=120,
            event_hooks={"request": [self._begin], "response": [self._end]},
        )

    def _begin(self, request: httpx.Request) -> None:
        request.extensions["begun"] = time.perf_counter()

    def _end(self, response: httpx.Response) -> None:
        request = response.request
        kind = "read" if request.method == "GET" else "write"
        self.taken[kind].append(1000 * (time.perf_counter() - request.extensions["begun"]))
        if not response.is_success:
            self.wrong[str(response.status_code)] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=180)
    args = parser.parse_args()
    heads = ("requests", "p50 ms", "p99 ms", "worst ms")
    print(f"{'checkout':24} {'kind':6}" + "".join(f"{head:>10}" for head in heads))
    for checkout in args.checkouts:
        with tempfile.TemporaryDirectory() as folder:
            measure(checkout.resolve(), Path(folder), args.clients, args.seconds)


def measure(checkout: Path, folder: Path, clients: int, seconds: int) -> None:
    """Serve a checkout, let the clients come, and print what they met."""
    with served(checkout, folder) as (process, url, key):
        answers, until = Answers(), time.monotonic() + seconds
        threads = [
            threading.Thread(target=live, args=(answers, url, key, number, until))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        peak = 0.0
        while any(thread.is_alive() for thread in threads):
            peak = max(peak, memory_of(process))
            time.sleep(1)
    for kind, taken in sorted(answers.taken.items()):
        cuts = quantiles(taken, n=100)
        print(
            f"{checkout.name:24} {kind:6}{len(taken):>10,}{cuts[49]:>10.0f}{cuts[98]:>10.0f}"
            f"{max(taken):>10.0f}"
        )
    print(
        f"{'':24} rounds {answers.rounds:,}; wrong {dict(answers.wrong)}; "
        f"memory {peak:.0f} MiB; load {os.getloadavg()[0]:.1f}"
    )


def live(answers: Answers, url: str, key: str, number: int, until: float) -> None:
    """One client's rounds until the time is over."""
    name, version = f"env-{number}", 0
    with answers.client(url, key) as client:
        time.sleep(random.uniform(0, THOUGHT_SECONDS))
        while time.monotonic() < until:
            version += 1
            try:
                Push(client, name, f"0.{version}.0", code=f"# {number} {version}\n").run()
                for path in (
                    f"/admin/simple/{name}/",
                    f"{HUB}/admin/{name}/status",
                    f"{HUB}/?limit=20",
                ):
                    client.get(path)
                answers.rounds += 1
            except (httpx.HTTPError, AssertionError) as error:
                answers.wrong[f"{type(error).__name__} {error}"[:60]] += 1
            time.sleep(THOUGHT_SECONDS)


@contextmanager
def served(checkout: Path, folder: Path) -> Iterator[tuple[psutil.Process, str, str]]:
    """The hub of a checkout: its process, its address and its admin's key."""
    data, out = folder / "hub", folder / "out"
    python = checkout / ".venv" / "bin" / "python"
    argv = [python, "-m", "prime_cli", "hub", "serve", "--data", data, "--port", "0"]
    with out.open("wb") as stdout, (folder / "err").open("wb") as stderr:
        process = subprocess.Popen(
            [*map(str, argv), "--rate-limit", "0", "--uploads", "1000"],
            cwd=checkout,
            stdout=stdout,
            stderr=stderr,
        )
    try:
        while "PRIME_TRACES_OPT_OUT" not in out.read_text():
            if process.poll() is not None:
                raise SystemExit((folder / "err").read_text())
            time.sleep(0.05)
        variables = dict(re.findall(r"export (\w+)=(\S*)", out.read_text()))
        file = data / "admin.key"
        key = file.read_text().strip() if file.exists() else variables["PRIME_API_KEY"]
        wait_for(variables["PRIME_API_BASE_URL"])
        yield psutil.Process(process.pid), variables["PRIME_API_BASE_URL"], key
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str) -> None:
    """Wait until the hub answers."""
    for _ in range(600):
        with suppress(httpx.TransportError):
            httpx.get(f"{url}/healthz", trust_env=False).raise_for_status()
            return
        time.sleep(0.05)


def memory_of(process: psutil.Process) -> float:
    """MiB of a process and its children."""
    tree = (process, *process.children(recursive=True))
    return float(sum(each.memory_info().rss for each in tree)) / _MIB


if __name__ == "__main__":
    main()
