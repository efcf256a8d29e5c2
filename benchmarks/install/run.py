"""CPU time of installing one environment: `prime env install` beside bare uv and pip.

    python benchmarks/install/run.py [ROUNDS]

The wheel is on the hub in the box and in prime's cache, its digest known; what it requires is in
the target already. Every run follows an uninstallation, so that each installs anew; the contestants
take turns in one run. Prints the median of user + system time of each process, its children
included, and what prime adds to uv as the median over rounds.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REF = "starter/reverse-text"
NAME = "reverse-text"
UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH", "VIRTUAL_ENV")
PRIME, UV = "prime env install REF", "uv pip install --no-deps WHEEL"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    uv = shutil.which("uv") or "uv"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        environ = {name: value for name, value in os.environ.items() if name not in UNSET}
        environ |= {"PRIME_HOME": str(work / ".prime"), "PRIME_UPSTREAM": "none"}
        tool = make_venv(uv, work / "tool", str(ROOT))
        target = make_venv(uv, work / "target", "verifiers==0.3.1", "pip")
        prime = [str(tool / "prime"), "env", "install", "--python", str(target / "python")]
        subprocess.run([*prime, REF], env=environ, check=True)
        (wheel,) = (work / ".prime" / "wheels").glob("*/*.whl")
        taken = measure(
            contests(uv, prime, target / "python", wheel),
            [uv, "pip", "uninstall", "-q", "--python", str(target / "python"), NAME],
            environ,
            rounds,
        )
    show(taken)
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def make_venv(uv: str, folder: Path, *packages: str) -> Path:
    """A venv with `packages`, all bytecode compiled; returns its folder of programs."""
    subprocess.run([uv, "venv", "-q", "-p", sys.executable, folder], check=True)
    words = ["pip", "install", "-q", "--compile-bytecode", "-p", folder / "bin" / "python"]
    subprocess.run([uv, *words, *packages], check=True)
    return folder / "bin"


def contests(uv: str, prime: list[str], python: Path, wheel: Path) -> dict[str, list[str]]:
    """What is run, by its label."""
    bare = [uv, "pip", "install", "-q", "--python", str(python)]
    return {
        UV: [*bare, "--no-deps", "--offline", str(wheel)],
        "uv pip install WHEEL (asks PyPI)": [*bare, str(wheel)],
        PRIME: [*prime, REF],
        "prime env install WHEEL": [*prime, str(wheel)],
        "pip install --no-deps WHEEL": [
            str(python), "-m", "pip", "install", "-q", "--no-deps", str(wheel),
        ],
    }  # fmt: skip


def measure(
    runs: dict[str, list[str]], undo: list[str], environ: dict[str, str], rounds: int
) -> dict[str, list[float]]:
    """CPU milliseconds of every run in every round; the first round only warms up."""
    taken: dict[str, list[float]] = {label: [] for label in runs}
    for number in range(rounds + 1):
        for label, argv in runs.items():
            cpu_ms(undo, environ)
            spent = cpu_ms(argv, environ)
            if number:
                taken[label].append(spent)
    return taken


def cpu_ms(argv: list[str], environ: dict[str, str]) -> float:
    """User and system time of a process and its children, its output thrown away."""
    nothing = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in (0, 1, 2)
    ]
    child = os.posix_spawn(argv[0], argv, environ, file_actions=nothing)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(argv)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1000


def show(taken: dict[str, list[float]]) -> None:
    width = max(map(len, taken))
    print(f"{'CPU':<{width}}  median ms  min ms  more than uv")
    for label, spent in taken.items():
        more = statistics.median(mine - base for mine, base in zip(spent, taken[UV], strict=True))
        print(f"{label:<{width}}  {statistics.median(spent):9.1f}  {min(spent):6.1f}  {more:12.1f}")


if __name__ == "__main__":
    main()
