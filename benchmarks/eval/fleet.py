"""Rollouts a second over a Ray cluster of 1, 2, 4 and 8 nodes, beside a single process.

    python benchmarks/eval/fleet.py [--nodes 1 2 4 8] [--concurrency 4] [--rollouts 100]
                                    [--latency 500] --python PYTHON [--work FOLDER]

PYTHON is that of a venv with `prime-cli[ray]`. The nodes are on this machine, and the endpoint
takes 500 ms, so that its cores do not decide. A node is one worker of `--concurrency` rollouts at a
time, with `--rollouts` for each. Counted is what comes between the moment when all workers are at
work and the last 5 %: starting takes seconds of CPU for each worker. The overhead is what a rollout
takes beyond the endpoint's answer. Exits with 1 if a size is not within 10 % of its share of one
node's.
"""

import argparse
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from run import endpoint

HERE = Path(__file__).parent
CLUSTER = HERE.parents[1] / "tests" / "helpers" / "ray_cluster.py"
TOLERANCE = 0.10
PRIME = "from prime_cli.main import run; run()"


@contextmanager
def cluster(python: str, nodes: int) -> Iterator[str]:
    """A cluster's address."""
    program = subprocess.Popen(
        [python, str(CLUSTER), str(nodes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        yield next(line.split()[0] for line in program.stdout if len(line.split()) == 3)
    finally:
        program.stdin.close()
        program.wait(120)


def stats(url: str) -> dict[str, int]:
    """What the endpoint counts."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats", timeout=10) as answer:
        found: dict[str, int] = json.load(answer)
        return found


def rate(options: argparse.Namespace, workers: int, address: str | None) -> float:
    """Rollouts a second of one run, with all `workers` at work; raises SystemExit."""
    rollouts, at_once = options.rollouts * workers, options.concurrency * workers
    flags = ["-n", str(rollouts), "-r", "1", "-c", str(options.concurrency), "--yes", "--new"]
    place = ["--ray", address, "--workers", str(workers)] if address is not None else []
    with endpoint(options.latency) as url:
        model = ["-m", "mock", "-b", url, "-k", "BENCH_KEY"]
        command = ["eval", "run", str(HERE / "environments" / "bench_v0"), *model, *flags, *place]
        run = subprocess.Popen(
            [options.python, "-c", PRIME, *command],
            cwd=options.work,
            env={**os.environ, "PRIME_HOME": str(options.work / "home"), "BENCH_KEY": "sk-bench"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        seen: list[tuple[float, int]] = []
        while run.poll() is None:
            now = stats(url)
            is_steady = now["most_at_once"] >= at_once and now["calls"] <= rollouts * 0.95
            if is_steady:
                seen.append((time.monotonic(), now["calls"]))
            time.sleep(0.1)
    if run.returncode or len(seen) < 2:
        raise SystemExit(f"{workers} workers: exit {run.returncode}, {len(seen)} samples")
    (first, before), (last, after) = seen[0], seen[-1]
    return (after - before) / (last - first)


def main() -> None:
    """Measure each size; the single process first."""
    parser = argparse.ArgumentParser(description="Rollouts a second over a Ray cluster")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--rollouts", type=int, default=100)
    parser.add_argument("--latency", type=int, default=500)
    parser.add_argument("--python", required=True)
    parser.add_argument("--work", type=Path, default=Path("bench-eval-work"))
    options = parser.parse_args()
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, c{options.concurrency} a worker")
    print(f"{'nodes':>8} {'rollouts/s':>11} {'of linear':>10} {'overhead ms':>12} {'load':>6}")

    def show(name: str, found: float, workers: int, base: float) -> float:
        share = found / (base * workers)
        overhead = 1000 * options.concurrency * workers / found - options.latency
        load = os.getloadavg()[0]
        print(f"{name:>8} {found:>11.2f} {share:>10.2f} {overhead:>12.0f} {load:>6.1f}", flush=True)
        return share

    single = rate(options, 1, None)
    show("none", single, 1, single)
    base, shares = 0.0, []
    for nodes in options.nodes:
        with cluster(options.python, nodes) as address:
            found = rate(options, nodes, address)
        base = base or found / nodes
        shares.append(show(str(nodes), found, nodes, base))
    if min(shares) < 1 - TOLERANCE:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
