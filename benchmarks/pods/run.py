"""Pods: lists beside the official client, and the life of a pod of this machine beside plain ssh.

    python benchmarks/pods/run.py [ROUNDS]

Makes one venv for each client (uv, bytecode compiled, one and the same Python). Both ask one served
hub, in turns: CPU of the process. Then pods are made on this machine, reached and ended, by the hub
in the box: wall time, and the memory that a pod takes which nobody uses. Needs Debian's
openssh-server. Prints medians, minima and the load of the machine.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.startup.run import OFFICIAL, ROOT, UNSET, cpu_ms, make_venv
from tests.helpers.serving import serve

LISTS = ("pods list", "availability list", "pods history")
NAME = "bench"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        ours = make_venv(work / "ours", f"{ROOT}[hub]") / "prime"
        official = make_venv(work / "official", OFFICIAL) / "prime"
        environ = {name: value for name, value in os.environ.items() if name not in UNSET}
        environ |= {"HOME": str(work), "PRIME_DISABLE_VERSION_CHECK": "1", "PRIME_UPSTREAM": "none"}
        with serve(work / "hub", env={"PRIME_HOME": str(work / "hub-home")}) as hub:
            asked = environ | hub.variables | {"PRIME_HOME": str(work / "asked")}
            show("CPU ms", compare_lists(ours, official, asked, rounds))
        boxed = environ | {"PRIME_HOME": str(work / "box")}
        show("wall ms", live(ours, boxed, rounds))
        print(f"a pod that nobody uses: {idle_mib(ours, boxed):.0f} MiB")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def compare_lists(
    ours: Path, official: Path, environ: dict[str, str], rounds: int
) -> dict[str, list[float]]:
    """CPU milliseconds of each list by both clients; the first round only warms up."""
    taken: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for words in LISTS:
            for label, client in (("ours", ours), ("official", official)):
                spent = cpu_ms([str(client), *words.split()], environ)
                if number:
                    taken.setdefault(f"{label:<9} {words}", []).append(spent)
    return taken


def live(ours: Path, environ: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Wall milliseconds of each step in the life of a pod; the first life only warms up."""
    taken: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        for label, prepare in STEPS.items():
            argv = prepare(ours, environ)
            begun = time.perf_counter()
            run(argv, environ)
            if number:
                taken.setdefault(label, []).append((time.perf_counter() - begun) * 1000)
    return taken


def creating(ours: Path, _environ: dict[str, str]) -> list[str]:
    words = f"pods create --gpu-type CPU_NODE --name {NAME} --for 10m --yes --wait"
    return [str(ours), *words.split()]


def ending(ours: Path, _environ: dict[str, str]) -> list[str]:
    return [str(ours), "pods", "terminate", NAME, "--yes"]


def executing(ours: Path, _environ: dict[str, str]) -> list[str]:
    return [str(ours), "pods", "exec", NAME, "--", "true"]


def listing(ours: Path, _environ: dict[str, str]) -> list[str]:
    return [str(ours), "pods", "list"]


def plain_ssh(ours: Path, environ: dict[str, str]) -> list[str]:
    """The argument list with which ssh alone runs `true` in the pod."""
    told = run([str(ours), "pods", "ssh", NAME, "--print", "--output", "json"], environ)
    argv: list[str] = json.loads(told)["argv"]
    return [*argv, "true"]


STEPS: dict[str, Callable[[Path, dict[str, str]], list[str]]] = {
    "create, until it is up": creating,
    "exec true": executing,
    "the same by plain ssh": plain_ssh,
    "list": listing,
    "terminate, until nothing is left": ending,
}
"""What is timed, and what makes its argument list, which is not."""


def idle_mib(ours: Path, environ: dict[str, str]) -> float:
    """The memory (PSS) of every process of a pod that has just been made, in MiB."""
    run(creating(ours, environ), environ)
    try:
        return sum(map(pss_kib, processes_of(f"{environ['PRIME_HOME']}/hub/pods/"))) / 1024
    finally:
        run(ending(ours, environ), environ)


def processes_of(folder: str) -> list[Path]:
    """Those that name the folder of the box's pods: keeper and sshd."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (process / "cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue  # it ended meanwhile
    return found


def pss_kib(process: Path) -> int:
    lines = (process / "smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def run(argv: list[str], environ: dict[str, str]) -> str:
    done = subprocess.run(
        argv, env=environ, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} failed: {done.stderr}")
    return done.stdout


def show(unit: str, taken: dict[str, list[float]]) -> None:
    width = max(map(len, taken))
    print(f"{unit:<{width}}  median     min")
    for label, spent in taken.items():
        print(f"{label:<{width}}  {statistics.median(spent):6.0f}  {min(spent):6.0f}")


if __name__ == "__main__":
    if shutil.which("sshd") is None and not Path("/usr/sbin/sshd").exists():
        raise SystemExit("this needs openssh-server")
    main()
