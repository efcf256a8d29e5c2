"""CPU time of starting: prime beside the official client, hf, and Python itself.

    python benchmarks/startup/run.py [ROUNDS]

Makes one venv for each contestant (uv, bytecode compiled, one and the same Python), then runs the
commands in turns, so that a busy moment of the machine meets all of them. Prints the median of
user + system time of each process, its children included, and the ratio to Python itself as the
median over rounds. Ends with exit code 1 when a command takes more than its limit (`LIMITS`).
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OFFICIAL = "prime==0.18.0"
HF = "huggingface-hub==2.4.0"
UNSET = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH", "VIRTUAL_ENV", "COLUMNS")
BASE = "python -c pass"
ENV_LIST = "ours      env list (hub in the box)"
ENV_INFO = "ours      env info (hub in the box)"
LIMITS = {ENV_LIST: 35.0, ENV_INFO: 35.0}
"""The most that a command may take, as a multiple of `BASE`: 350 ms where Python takes 10."""


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        bins = {
            "ours": make_venv(work / "ours", str(ROOT)),
            "official": make_venv(work / "official", OFFICIAL),
            "hf": make_venv(work / "hf", HF),
        }
        environ = {name: value for name, value in os.environ.items() if name not in UNSET}
        environ |= {"HOME": str(work), "PRIME_HOME": str(work / ".prime"), "PRIME_UPSTREAM": "none"}
        taken = measure(contests(bins), environ, rounds)
    ratios = show(taken)
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
    if over := [label for label, limit in LIMITS.items() if ratios[label] > limit]:
        raise SystemExit(f"over the limit: {', '.join(over)}")


def make_venv(folder: Path, package: str) -> Path:
    """A venv with `package`, all bytecode compiled; returns its folder of programs."""
    uv = shutil.which("uv") or "uv"
    subprocess.run([uv, "venv", "-q", "-p", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [uv, "pip", "install", "-q", "--compile-bytecode", "-p", python, package], check=True
    )
    return folder / "bin"


def contests(bins: dict[str, Path]) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What is run, by its label: the words, and the variables that a shell would set."""
    ours, official, hf = (str(bins[name] / tool) for name, tool in (
        ("ours", "prime"), ("official", "prime"), ("hf", "hf")))  # fmt: skip
    asked = {
        "_PRIME_COMPLETE": "complete_bash",
        "COMP_WORDS": "prime env l",
        "COMP_CWORD": "2",
    }
    static = (
        f"source '{ROOT}/completions/prime.bash';"
        "COMP_WORDS=(prime env l); COMP_CWORD=2; _prime; echo ${COMPREPLY[@]}"
    )
    runs: dict[str, tuple[list[str], dict[str, str]]] = {
        BASE: ([str(bins["ours"] / "python"), "-c", "pass"], {})
    }
    for words in ("--version", "--help", "env install --help"):
        runs[f"ours      {words}"] = ([ours, *words.split()], {})
        runs[f"official  {words}"] = ([official, *words.split()], {})
    runs["ours      config show (through Typer)"] = ([ours, "config", "show"], {})
    runs[ENV_LIST] = ([ours, "env", "list"], {})
    runs[ENV_INFO] = (
        [ours, "env", "info", "starter/reverse-text"],
        {},
    )
    runs["hf        --version"] = ([hf, "--version"], {})
    runs["hf        --help"] = ([hf, "--help"], {})
    runs["ours      complete `env l` (bash, script read anew)"] = (
        ["/bin/bash", "--norc", "-c", static], {})  # fmt: skip
    runs["official  complete `env l`"] = ([official], asked)
    return runs


def measure(
    runs: dict[str, tuple[list[str], dict[str, str]]], environ: dict[str, str], rounds: int
) -> dict[str, list[float]]:
    """CPU milliseconds of every run in every round; the first round only warms up."""
    taken: dict[str, list[float]] = {label: [] for label in runs}
    for number in range(rounds + 1):
        for label, (argv, more) in runs.items():
            spent = cpu_ms(argv, environ | more)
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


def show(taken: dict[str, list[float]]) -> dict[str, float]:
    """Print the table; returns the ratio of each command to `BASE`."""
    ratios = {}
    width = max(map(len, taken))
    print(f"{'CPU':<{width}}  median ms  min ms  x python")
    for label, spent in taken.items():
        ratio = statistics.median(
            mine / base for mine, base in zip(spent, taken[BASE], strict=True)
        )
        ratios[label] = ratio
        print(f"{label:<{width}}  {statistics.median(spent):9.1f}  {min(spent):6.1f}  {ratio:8.1f}")
    return ratios


if __name__ == "__main__":
    main()
