"""Time from the start of `prime eval view RUN` to a screen with rewards, on a run of any size.

    python benchmarks/view/run.py [ROLLOUTS] [ROUNDS]

Makes a run of so many rollouts (200,000; 4 a question, some 1.1 KB each), opens it ROUNDS times
(5) on a pseudo terminal of 100 x 30, and reads the screen until the grid is on it. Does the same
without journal.idx, which is then made anew, and with a run of 10 rollouts, which is what Python
and imports cost. Also: a search for text through all of it, and the most memory of the process.
On a busy machine much of the time is spent in the queue for a core; it is told apart.
"""

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prime_cli.runs.folder import Journal, RunFolder
from prime_cli.runs.manifest import FINISHED, RunManifest, save_manifest
from prime_cli.runs.plan import EvalPlan, RunEnvironment
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.scrubber import Scrubber

COMMAND = (sys.executable, "-c", "from prime_cli.main import run; run()")
_AT_A_QUESTION = 4
_DEADLINE = 60.0


def main() -> None:
    rollouts = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        large = make_run(Path(folder) / "large", rollouts)
        small = make_run(Path(folder) / "small", 10)
        for run in (large, small):
            open_run(run)  # bytecode, and the files in memory
        taken: dict[str, list[Cost]] = {}
        for _ in range(rounds):
            taken.setdefault("10 rollouts", []).append(open_run(small))
            taken.setdefault(f"{rollouts:,} rollouts", []).append(open_run(large))
            (large.path / "journal.idx").unlink()
            taken.setdefault(f"{rollouts:,} without journal.idx", []).append(open_run(large))
        taken["searched for text"] = [open_run(large, find="answer 19999") for _ in range(rounds)]
        print(f"journal {large.journal.stat().st_size / 1e6:.0f} MB")
    for name, costs in taken.items():
        wall, alone, memory = (
            statistics.median(column)
            for column in zip(*((w, w - queued, m) for w, queued, m in costs), strict=True)
        )
        print(
            f"{name:32} wall {wall:.2f} s, {alone:.2f} s of it not in the queue for a core", end=""
        )
        print(f", {memory:.0f} MB")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def make_run(parent: Path, rollouts: int) -> RunFolder:
    """A finished run below `parent`, written as a run writes it."""
    folder = RunFolder(parent / "outputs" / "evals" / "bench--model" / "0a1b2c3d")
    folder.path.mkdir(parents=True)
    plan = EvalPlan(
        environment=RunEnvironment("bench", "1.0", "bench", "ab" * 32, ref="ada/bench@1.0"),
        model="model",
        endpoint="http://127.0.0.1:1/v1",
        num_examples=rollouts // _AT_A_QUESTION,
        rollouts_per_example=_AT_A_QUESTION,
        sampling={},
        env_args={},
        extra_args={},
    )
    manifest = RunManifest(
        run_id=folder.run_id,
        plan=plan,
        started="2026-01-02T03:04:05+00:00",
        status=FINISHED,
        planned=rollouts,
    )
    save_manifest(folder.manifest, manifest, Scrubber({}))
    with Journal(folder.journal, Scrubber({})) as journal:
        for number in range(rollouts):
            journal.append(invented(number))
    return folder


def invented(number: int) -> Row:
    """A rollout of a kilobyte; one in fifty ended in an error."""
    failure = Failure("infra", "APITimeoutError", "Request timed out") if number % 50 == 0 else None
    return Row(
        example_id=number // _AT_A_QUESTION,
        rollout=number % _AT_A_QUESTION,
        reward=None if failure else number % 3 / 2,
        error=failure,
        prompt=[{"role": "user", "content": f"question {number} " + "x" * 300}],
        completion=[{"role": "assistant", "content": f"answer {number} " + "y" * 500}],
        metrics={"format": 0.5, "correct": 1.0},
        timing={"generation": 1.5, "scoring": 0.1},
    )


Cost = tuple[float, float, float]
"""Wall seconds, those for which the process waited for a core, and its peak memory in MB."""


def open_run(run: RunFolder, find: str | None = None) -> Cost:
    """What it takes until the grid is on the screen, or all was searched for `find`."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"TERM": "xterm-256color", "LINES": "30", "COLUMNS": "100"}
    began = time.perf_counter()
    words = [*COMMAND, "eval", "view", str(run.path)]
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(words, env=environ, **streams) as process:
        os.close(theirs)
        try:
            wait_for(ours, b"infra!")
            seconds = time.perf_counter() - began
            if find:
                os.write(ours, b"/")
                wait_for(ours, b"text in any message")
                began = time.perf_counter()
                os.write(ours, find.encode() + b"\r")
                wait_for(ours, f"rollouts with text {find}\x1b".encode())
                seconds = time.perf_counter() - began
            cost = (seconds, waited(process.pid), peak_memory(process.pid))
        finally:
            process.kill()
    os.close(ours)
    return cost


def wait_for(descriptor: int, wanted: bytes) -> None:
    """Read what is written to the screen until it has `wanted`."""
    written, until = b"", time.monotonic() + _DEADLINE
    while wanted not in written:
        if time.monotonic() > until:
            raise TimeoutError(f"{wanted!r} was not seen in {_DEADLINE:.0f} s: {written[-2000:]!r}")
        if select.select([descriptor], [], [], 1)[0]:
            written += os.read(descriptor, 1 << 20)


def waited(pid: int) -> float:
    """Seconds for which the main thread could have run and did not, where the system tells."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text(encoding="utf-8").split()[1]) / 1e9 if path.exists() else float("nan")


def peak_memory(pid: int) -> float:
    """The largest resident memory of a process in MB, where the system tells."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return float("nan")
    line = next(
        line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
    )
    return int(line.split()[1]) / 1000


if __name__ == "__main__":
    main()
