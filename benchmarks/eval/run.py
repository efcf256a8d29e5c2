"""`prime eval run` next to `vf-eval` of the same verifiers release, cell by cell.

    python benchmarks/eval/run.py [--rollouts 500] [--concurrency 32 128] [--latency 0 200]
                                  [--generations v0 v1] [--evaluators prime vf-eval]
                                  [--work FOLDER] [--prime COMMAND]

Both sides run the same environment against the same mock endpoint, one right after the other
(paired, so that other load on the machine meets both). A first small run of each, not counted,
fills caches and makes interpreters. CPU is that of the whole process tree without the endpoint;
memory is the peak of the tree's PSS; the time to the first request counts from the start of the
command. Linux only; needs uv on PATH.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from contestants import Contestant, Load, make_venv, prime, verifiers_version, vf_eval
from measure import Cost, measure

COLUMNS = ("generation", "latency", "c", "evaluator", "CPU s", "wall s", "first s", "PSS MiB")
NULL_HARNESS_WARNING = (
    "note: vf-eval of v1 starts one Python per rollout; 500 rollouts take many minutes and "
    "gigabytes at c128"
)


@contextmanager
def endpoint(latency_ms: int) -> Iterator[str]:
    """The mock endpoint's base URL while it runs."""
    argv = [sys.executable, str(Path(__file__).with_name("mock_endpoint.py")), str(latency_ms)]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.stdin.close()
        process.wait(10)


def stats(url: str) -> dict[str, Any]:
    """The endpoint's counters."""
    with urllib.request.urlopen(f"{url}/stats") as response:
        return dict(json.load(response))


def run_one(contestant: Contestant, load: Load, url: str, log: Path, timeout: float) -> list[str]:
    """One row of the table; what went wrong is in the row."""
    cost = measure(
        contestant.argv, env=contestant.env, cwd=contestant.cwd, log=log, timeout=timeout
    )
    seen = stats(url)
    first = f"{seen['first'] - cost.started:.1f}" if seen["first"] else "-"
    row = [f"{cost.cpu:.1f}", f"{cost.wall:.1f}", first, f"{cost.peak_mb:.0f}"]
    return [*row, *_problems(contestant, load, cost, seen)]


def _problems(contestant: Contestant, load: Load, cost: Cost, seen: dict[str, Any]) -> list[str]:
    found = []
    if cost.code != 0:
        found.append(f"exit {cost.code}")
    if seen["calls"] != load.rollouts:
        found.append(f"{seen['calls']} calls")
    rewards = contestant.rewards()
    if rewards != [1.0] * load.rollouts:
        found.append(f"{rewards.count(1.0)} of {len(rewards)} rewards right")
    return [f"({', '.join(found)})"] if found else []


def contestant(
    name: str, load: Load, url: str, options: argparse.Namespace, venv: Path
) -> Contestant:
    """One side of a cell."""
    if name == "prime":
        return prime(load, url, prime_command=options.prime, work=options.work)
    return vf_eval(load, url, venv=venv, work=options.work)


def run_cell(load: Load, options: argparse.Namespace, venv: Path) -> None:
    """Measure the sides of one cell, each against a fresh endpoint, and print a row for each."""
    for name in options.evaluators:
        with endpoint(load.latency_ms) as url:
            side = contestant(name, load, url, options, venv)
            log = options.work / f"{name}-{load.generation}.log"
            row = run_one(side, load, url, log, options.timeout)
        cell = [load.generation, f"{load.latency_ms} ms", str(load.concurrency), side.name]
        print_row([*cell, *row])


def print_row(cells: list[str]) -> None:
    """One line of the table, at once: a run takes minutes."""
    widths = (10, 8, 4, 15, 7, 7, 8, 8)
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    print(" ".join([*padded, *cells[len(widths) :]]).rstrip(), flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="prime eval run next to vf-eval")
    parser.add_argument("--rollouts", type=int, default=500)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--latency", type=int, nargs="+", default=[0, 200], help="milliseconds")
    parser.add_argument("--generations", nargs="+", default=["v0", "v1"], choices=["v0", "v1"])
    sides = ["prime", "vf-eval"]
    parser.add_argument("--evaluators", nargs="+", default=sides, choices=sides)
    parser.add_argument("--work", type=Path, default=Path("bench-eval-work"))
    parser.add_argument("--prime", default=shutil.which("prime") or "prime")
    parser.add_argument("--python", default="3.11", help="for the venvs of vf-eval")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run")
    return parser.parse_args()


def main() -> None:
    """Run every cell."""
    options = parse_arguments()
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    venvs = {
        name: make_venv(name, work=options.work, python=options.python)
        for name in options.generations
    }
    shown = [options.prime, "--version"]
    version = subprocess.run(shown, check=True, capture_output=True, text=True, encoding="utf-8")
    print(f"{version.stdout.strip()}, Python {platform.python_version()}, {os.cpu_count()} CPUs")
    for name, venv in venvs.items():
        print(f"{name}: verifiers {verifiers_version(venv)}")
        for evaluator in options.evaluators:
            warm(name, evaluator, options, venv)
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
    if "v1" in venvs and "vf-eval" in options.evaluators:
        print(NULL_HARNESS_WARNING)
    print_row(list(COLUMNS))
    for name, latency, concurrency in product(
        options.generations, options.latency, options.concurrency
    ):
        run_cell(Load(name, options.rollouts, concurrency, latency), options, venvs[name])
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def warm(generation: str, evaluator: str, options: argparse.Namespace, venv: Path) -> None:
    """A small run that is not counted."""
    load = Load(generation, rollouts=2, concurrency=2, latency_ms=0)
    with endpoint(0) as url:
        side = contestant(evaluator, load, url, options, venv)
        row = run_one(side, load, url, options.work / "warm.log", options.timeout)
    if row[4:]:
        print(f"warning: the warm-up of {side.name} for {generation} ended {row[4]}")


if __name__ == "__main__":
    main()
