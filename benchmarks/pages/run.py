"""What pages cost: 10,000 environments on a hub, runs of 10,000 and 200,000 rollouts, inspect.

    python benchmarks/pages/run.py [--rounds 15] [--inspect PYTHON]
    python benchmarks/pages/run.py --data DIR

With --data, the pages of the hub in the folder DIR alone, which `benchmarks/hub/million.py` filled.

For each page: the time and the CPU of the server for an answer over loopback (median, p95), its
bytes, and the first paint in Chromium (median). Then runs in `prime open`, beside `inspect view` of
the interpreter PYTHON, which has inspect-ai, on as many samples: the time to the first row from a
new window, the bytes that came, and the memory (PSS) of the browser's processes. A page that the
server remembers differs from one that it must make: the first answer of each is not counted.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psutil
from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.hub.measuring import cpu_seconds
from benchmarks.hub.million import fill
from benchmarks.view.run import make_run
from prime_cli.hub.context import Caller, open_hub
from prime_cli.hub.services import key_management
from prime_cli.hub.settings import HubSettings
from tests.browser.site import CODE, README, publish, samples
from tests.browser.test_hostile import FILES, TEXT
from tests.browser.test_hostile import README as HOSTILE
from tests.browser.watched import launch, visit
from tests.helpers.cli import COMMAND
from tests.helpers.serving import serve
from tests.hub.evaluating import finished

ENVIRONMENTS = ROLLOUTS = 10_000
MANY = 200_000
CELLS = 1_000_000
_CALLS = 200
_START = 60.0
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    parser = argparse.ArgumentParser(description="What pages cost.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--inspect", type=Path)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure_hub(Path(name), options.data, options.rounds)
        if options.data is None:
            measure_runs(Path(name), options.inspect)
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


# --- Pages of a hub ---


def measure_hub(folder: Path, filled: Path | None, rounds: int) -> None:
    """The pages of a served hub, each asked for `rounds` times."""
    data = filled or folder / "hub"
    env = {"HOME": str(folder), "PRIME_HOME": str(folder / "home"), "PRIME_UPSTREAM": "none"}
    opened = open_hub(HubSettings(data=data, owner="", embedded=False, accounts=True))
    if filled is None:
        fill(opened.database, ENVIRONMENTS)
    with serve(data, env=env) as hub, launch() as browser:
        key = key_management.issue_key(opened, Caller.operator(), "ada", scope="admin").key
        with hub.client(key) as ada:
            pages = fill_pages(ada)
        print(
            "| page | ms, median | ms, p95 | CPU ms | KB | first paint, ms |\n"
            "|---|---|---|---|---|---|"
        )
        with serve_word() as address:
            print(f"| one word, elsewhere | | | | | {first_paint(browser, address):.0f} |")
        for name, path in pages.items():
            with hub.client("") as client:
                print(f"| {name} | {answers(client, hub.process.pid, path, rounds)}", end="")
            print(f" | {first_paint(browser, hub.url + path):.0f} |", flush=True)


def fill_pages(ada: httpx.Client) -> dict[str, str]:
    """The addresses of the pages that are measured."""
    table = "| a " * 1000 + "|\n" + "|-" * 1000 + "|\n" + ("| b " * 1000 + "|\n") * (CELLS // 1000)
    at = "/dashboard/environments/ada"
    publish(ada, "pages-word", "1.0.0", readme=README)
    publish(ada, "pages-evil", "1.0.0", readme=HOSTILE, description=TEXT[:400], files=FILES)
    publish(ada, "pages-table", "1.0.0", readme=table)
    publish(ada, "pages-word", "1.1.0", readme=README, code=f"{CODE}\n\ndef short(): return 1\n")
    many = [
        {**each, "example_id": number} for number, each in enumerate(samples(7) * (ROLLOUTS // 10))
    ]
    about: dict[str, Any] = {"environments": [{"id": "ada/pages-word"}], "is_public": True}
    evaluation = finished(ada, many, name="ten thousand", model_name="large-70b", **about)
    finished(ada, samples(3), name="ten", model_name="small-1b", **about)
    compared = "&".join(f"evaluation={each}" for each in _comparable(ada, about))
    long = finished(
        ada, [using_tools(_CALLS, 5_000)], name="1 MB", environments=[{"id": "ada/pages-evil"}],
        model_name="small-1b", is_public=True,
    )  # fmt: skip
    word, evil = f"{at}/pages-word", f"{at}/pages-evil"
    return {
        "catalogue": "/",
        "catalogue, most evaluations first": "/?sort=evaluations",
        "catalogue, one kind, most stars first": "/?kind=single-turn&sort=stars",
        "search": "/?search=word",
        "environment": word,
        "environment, files": f"{word}/@1.1.0/files",
        "environment, a file": f"{word}/@1.1.0/files/pages_word.py",
        "environment, versions compared": f"{word}/versions?from=1.0.0&to=1.1.0",
        "environment, evaluations": f"{word}/evaluations",
        "environment, details": f"{word}/details",
        "evaluation of 10,000 rollouts": f"/dashboard/evaluations/{evaluation}",
        "the same, filtered by reward": f"/dashboard/evaluations/{evaluation}?reward=%3E0.5",
        "a rollout": f"/dashboard/evaluations/{evaluation}/samples/5000",
        "two evaluations of 5,000 rollouts compared": f"/dashboard/compare?{compared}",
        "rollouts of both side by side": f"/dashboard/compare/2000.0?{compared}",
        "hostile environment": evil,
        "hostile, a table of a million cells": f"{at}/pages-table",
        "hostile, details": f"{evil}/details",
        "hostile, a rollout with 1 MB of tool results": f"/dashboard/evaluations/{long}/samples/1",
        "the same, its last turns": f"/dashboard/evaluations/{long}/samples/1?before={_CALLS + 1}",
    }


def _comparable(ada: httpx.Client, about: dict[str, Any]) -> list[str]:
    """Two evaluations of 5,000 rollouts, of which a tenth are right in one of them alone."""
    return [
        finished(
            ada,
            [
                {**samples(7)[0], "example_id": n, "rollout_number": 0, "reward": float(n % 10 < k)}
                for n in range(5_000)
            ],
            name=f"five thousand by {model}", model_name=model, **about,
        )
        for model, k in (("medium-7b", 5), ("larger-9b", 6))
    ]  # fmt: skip


def using_tools(calls: int, size: int) -> dict[str, Any]:
    """A rollout with results of tools, JSON of `size` bytes each that changes each time."""
    said: list[dict[str, Any]] = []
    for number in range(calls):
        function = {"name": "look", "arguments": json.dumps({"at": number})}
        rows = [
            {"title": f"row {row}", "score": row / 7, "at": number} for row in range(size // 45)
        ]
        said += [
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(rows)},
        ]
    return {"example_id": 0, "rollout": 0, "completion": said, "reward": 1.0}


def answers(client: httpx.Client, pid: int, path: str, rounds: int) -> str:
    """Wall and CPU milliseconds of an answer, and its kilobytes."""
    found = client.get(path).raise_for_status()
    walls, before = [], cpu_seconds(pid)
    for _ in range(rounds):
        begun = time.perf_counter()
        client.get(path).raise_for_status()
        walls.append((time.perf_counter() - begun) * 1e3)
    cpu = (cpu_seconds(pid) - before) / rounds * 1e3
    p95 = statistics.quantiles(walls, n=20)[-1]
    return (
        f"{statistics.median(walls):.1f} | {p95:.1f} | {cpu:.1f} | {len(found.content) / 1e3:.0f}"
    )


def first_paint(browser: Browser, url: str, rounds: int = 5) -> float:
    """Milliseconds from the navigation to the first content, each in a new window."""
    taken = []
    for _ in range(rounds):
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(url, wait_until="load")
            # The policy of pages forbids what `wait_for_function` does.
            while (paint := page.evaluate(_PAINT)) is None:
                page.wait_for_timeout(10)
            taken.append(float(paint))
    return statistics.median(taken)


@contextmanager
def serve_word() -> Iterator[str]:
    """The address of a page without a style sheet or a script: what Chromium itself takes."""

    class Word(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>word</title><p>word")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Word) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


# --- Runs, beside inspect ---


def measure_runs(folder: Path, inspect: Path | None) -> None:
    """Runs of two sizes in `prime open`, and the smaller one's size in `inspect view`."""
    print("| viewer | first row, s | again, s | KB | browser, MB |\n|---|---|---|---|---|")
    for rollouts in (ROLLOUTS, MANY):
        run = make_run(folder / f"run-{rollouts}", rollouts)
        with prime_open(folder / f"run-{rollouts}", run.run_id) as address:
            figures = opening(address, "table.examples tbody tr")
            print(f"| prime open, {rollouts:,} rollouts | {figures} |", flush=True)
    if inspect is not None:
        words = [str(inspect), str(Path(__file__).with_name("inspect_log.py")), str(folder / "log")]
        subprocess.run([*words, str(ROLLOUTS)], check=True, capture_output=True)
        with inspect_view(inspect, folder / "log" / "logs") as address:
            figures = opening(address, "[role=row] [role=gridcell]")
            print(f"| inspect view, {ROLLOUTS:,} samples | {figures} |", flush=True)


@contextmanager
def prime_open(cwd: Path, run: str) -> Iterator[str]:
    """The address of a run in `prime open`."""
    words = [*COMMAND, "open", run, "--no-browser", "-q"]
    # Not the home of whoever measures.
    env = os.environ | {"HOME": str(cwd), "PRIME_HOME": str(cwd / "home"), "PRIME_UPSTREAM": "none"}
    with subprocess.Popen(
        words, cwd=cwd, env=env, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def inspect_view(python: Path, logs: Path) -> Iterator[str]:
    """The address of the only log in `logs` in `inspect view`."""
    port = "7576"
    words = [str(python.with_name("inspect")), "view", "start", "--log-dir", str(logs)]
    origin = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [*words, "--port", port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: answers_at(origin))
            yield f"{origin}/#/logs/log.eval"
        finally:
            process.terminate()


def answers_at(origin: str) -> bool:
    try:
        return httpx.get(origin, trust_env=False).is_success
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _START
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.1)


def opening(address: str, row: str) -> str:
    """Seconds to the first row, those of a second load, kilobytes, and the browser's megabytes.

    In a browser of its own, so that its memory is that of this page.
    """
    with launch() as browser:
        window = visit(browser, address.partition("/#")[0])
        session = window.context.new_cdp_session(window.page)
        size = 0

        def count(event: dict[str, float]) -> None:
            nonlocal size
            size += int(event["encodedDataLength"])

        session.on("Network.dataReceived", count)
        session.send("Network.enable")
        taken = []
        for load in (lambda: window.page.goto(address), window.page.reload):
            begun = time.perf_counter()
            load()
            window.page.locator(row).first.wait_for(timeout=300_000)
            taken.append(time.perf_counter() - begun)
            if len(taken) == 1:
                window.page.wait_for_timeout(500)
                received = size / 1e3
        return f"{taken[0]:.2f} | {taken[1]:.2f} | {received:.0f} | {browser_memory():.0f}"


def browser_memory() -> float:
    """Megabytes of all processes of Chromium below this one, shared pages counted once."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        try:
            if "chrom" in process.name():
                total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


if __name__ == "__main__":
    main()
