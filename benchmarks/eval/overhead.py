"""What a rollout costs in each evaluator beyond its start: the same questions at two sizes.

    python benchmarks/eval/overhead.py [--sizes 200 1000] [--concurrency 32] [--rounds 3]
                                       [--contestants prime generate ...] [--work FOLDER]

Every contestant runs both sizes against a fresh mock endpoint without latency, one right after the
other, `--rounds` times; the difference of the two CPU times over that of the sizes is the cost of
a rollout, the median of the rounds is printed. `prime` journals, limits, counts and shows progress
as always; `generate` is the same environment driven by its own `generate` with AsyncOpenAI, which
does none of that: the difference of the two is our overhead. CPU is that of the whole process tree
without the endpoint. Linux only; needs uv on PATH; installs verifiers 0.1.14 and inspect_ai.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from contestants import Contestant, Load, driver, make_venv, prime, vf_eval
from measure import Cost, measure
from run import endpoint

DRIVERS = {
    "generate": ("generate.py", ()),
    "openai loop": ("client_loop.py", ("openai",)),
    "aiohttp loop": ("client_loop.py", ("aiohttp",)),
    "inspect_ai": ("inspect_task.py", ()),
}
CONTESTANTS = ("prime", "generate", "openai loop", "aiohttp loop", "vf-eval", "inspect_ai")
MOST_ROLLOUTS = 1000
"""How many examples the benchmark's environment has."""
COLUMNS = ("ms CPU a rollout", "start CPU s", "wall s, small", "wall s, large", "peak PSS MiB")

Make = Callable[[Load, str], Contestant]


def makers(options: argparse.Namespace) -> dict[str, Make]:
    """How each contestant is made."""
    work: Path = options.work
    venv = make_venv("v0", work=work, python=options.python)
    peers = _peers(work, options.python)

    def driven(name: str) -> Make:
        script, more = DRIVERS[name]
        python = (peers if name in ("inspect_ai", "aiohttp loop") else venv) / "bin" / "python"
        return lambda load, url: driver(script, load, url, *more, python=python, work=work)

    found: dict[str, Make] = {name: driven(name) for name in DRIVERS}
    found["prime"] = lambda load, url: prime(load, url, prime_command=options.prime, work=work)
    found["vf-eval"] = lambda load, url: vf_eval(load, url, venv=venv, work=work)
    return found


def _peers(work: Path, python: str) -> Path:
    venv = work / "venv-peers"
    if not (venv / "bin" / "inspect").exists():
        subprocess.run(["uv", "venv", "-q", "--python", python, str(venv)], check=True)
        install = ["uv", "pip", "install", "-q", "--compile-bytecode", "--python"]
        packages = ["inspect_ai", "openai", "aiohttp"]
        subprocess.run([*install, str(venv / "bin" / "python"), *packages], check=True)
    return venv


def run_one(make: Make, size: int, options: argparse.Namespace) -> Cost:
    """One run of one contestant; raises SystemExit when it did not do its work."""
    load = Load("v0", size, options.concurrency, 0)
    with endpoint(0) as url:
        contestant = make(load, url)
        log = options.work / "overhead.log"
        cost = measure(
            contestant.argv, env=contestant.env, cwd=contestant.cwd, log=log, timeout=1800
        )
    right = contestant.rewards().count(1.0)
    if cost.code or right != size:
        raise SystemExit(f"{contestant.name}: exit {cost.code}, {right} of {size} right: see {log}")
    return cost


def compare(makes: dict[str, Make], options: argparse.Namespace) -> dict[str, float]:
    """Run the rounds, print a row for each contestant, and return the ms CPU of a rollout."""
    small, large = options.sizes
    costs: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in options.contestants}
    for name in options.contestants:
        run_one(makes[name], 2, options)
    for _ in range(options.rounds):
        for name in options.contestants:
            pair = (run_one(makes[name], small, options), run_one(makes[name], large, options))
            costs[name].append(pair)
    slopes = {}
    for name, pairs in costs.items():
        slopes[name] = 1000 * statistics.median(
            (big.cpu - little.cpu) / (large - small) for little, big in pairs
        )
        start = statistics.median(little.cpu for little, _ in pairs) - slopes[name] * small / 1000
        walls = [statistics.median(pair[size].wall for pair in pairs) for size in (0, 1)]
        peak = max(big.peak_mb for _, big in pairs)
        cells = [f"{slopes[name]:.2f}", f"{start:.1f}", *(f"{wall:.1f}" for wall in walls)]
        print_row(name, [*cells, f"{peak:.0f}"])
    return slopes


def print_row(name: str, cells: Sequence[str]) -> None:
    """One line of the table."""
    print(name.ljust(14), *(cell.rjust(16) for cell in cells), flush=True)


def main() -> None:
    """Measure, and say how far prime is above the environment's own generate."""
    parser = argparse.ArgumentParser(description="CPU of a rollout, evaluator by evaluator")
    parser.add_argument("--sizes", type=int, nargs=2, default=[200, 1000])
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--work", type=Path, default=Path("bench-eval-work"))
    parser.add_argument("--prime", default=shutil.which("prime") or "prime")
    parser.add_argument("--python", default="3.11")
    options = parser.parse_args()
    if max(options.sizes) > MOST_ROLLOUTS:
        parser.error(f"the environment has {MOST_ROLLOUTS} examples")
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    makes = makers(options)
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, c{options.concurrency}")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
    print_row("contestant", COLUMNS)
    slopes = compare(makes, options)
    if {"prime", "generate"} <= slopes.keys():
        above = slopes["prime"] - slopes["generate"]
        print(f"prime is {above:+.2f} ms CPU a rollout above the environment's own generate")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
