"""The memory of a long run: `prime eval run` with very many rollouts, watched while it goes.

    python benchmarks/eval/memory.py [--rollouts 100000] [--concurrency 32] [--work FOLDER]

Runs the benchmark environment against the mock endpoint without latency and prints, for every tenth
of the run, the PSS (shared pages divided among their users) of the parent process and of its worker
in MiB, then the peaks, the summary and the size of the journal. Linux only; needs uv on PATH.
"""

import argparse
import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from contestants import Load, prime
from run import endpoint, stats

SECONDS_BETWEEN = 1.0


def children_of(parent: int) -> list[int]:
    """The processes that `parent` started and that still run."""
    with suppress(OSError):
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
        return [int(word) for word in text.split()]
    return []


def pss_of(pid: int) -> float:
    """Proportional set size in MiB; 0 for a process that is gone."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0


def watch(process: "subprocess.Popen[bytes]", url: str, rollouts: int) -> tuple[float, float]:
    """Print a line at every tenth of the calls; the peaks of parent and worker."""
    peaks = [0.0, 0.0]
    shown = 0
    began = time.monotonic()
    while process.poll() is None:
        time.sleep(SECONDS_BETWEEN)
        parent, worker = pss_of(process.pid), max(map(pss_of, children_of(process.pid)), default=0)
        peaks = [max(peaks[0], parent), max(peaks[1], worker)]
        tenth = stats(url)["calls"] * 10 // rollouts
        if tenth > shown:
            shown = tenth
            seconds = time.monotonic() - began
            print(f"{tenth * 10:>4} %{seconds:>9.0f} s{parent:>9.0f}{worker:>9.0f}", flush=True)
    return peaks[0], peaks[1]


def main() -> None:
    """Run once and print what was seen."""
    parser = argparse.ArgumentParser(description="memory of a long run")
    parser.add_argument("--rollouts", type=int, default=100_000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--work", type=Path, default=Path("bench-eval-work"))
    parser.add_argument("--prime", default=shutil.which("prime") or "prime")
    options = parser.parse_args()
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    load = Load("v0", options.rollouts, options.concurrency, 0)
    print(f"{options.rollouts} rollouts, c{options.concurrency}, load {os.getloadavg()[0]:.1f}")
    print("done      after   parent   worker (PSS MiB)")
    with endpoint(0) as url:
        side = prime(load, url, prime_command=options.prime, work=work)
        argv = [*side.argv, "-a", json.dumps({"num_examples": options.rollouts})]
        with (work / "memory.json").open("wb") as output:
            process = subprocess.Popen(argv, env=side.env, cwd=side.cwd, stdout=output)
            parent, worker = watch(process, url, options.rollouts)
        calls = stats(url)["calls"]
    summary = json.loads((work / "memory.json").read_bytes())
    journal = sum(path.stat().st_size for path in side.cwd.glob("outputs/**/journal.jsonl"))
    print(f"peak: parent {parent:.0f} MiB, worker {worker:.0f} MiB; exit {process.returncode}")
    counts = summary["counts"]
    print(f"{calls} calls, {counts['scored']} scored, {counts['errored']} errored")
    print(f"{summary['seconds']:.0f} s, journal {journal / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
