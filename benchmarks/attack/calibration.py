"""How often `prime env check --attack` finds a planted hole, and how often it finds one in none.

    python benchmarks/attack/calibration.py [COUNT] [SEED] [--starters]

Makes COUNT (30) environments with a hole in their reward and as many without, from the data, forms
and rewards of `tests/evals/env_check/attack/worlds.py`, and attacks each with 20 examples and 150
calls of search. Prints each verdict, and both rates with their 95 % intervals. With `--starters`
the environments that come with prime are attacked too, with their own release of verifiers. Fails
when more than 2 of 30 clean ones are flagged.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from prime_cli.core.formatting import format_interval
from prime_cli.runs.statistics.intervals import interval_of, moments_of
from tests.evals.env_check.attack.worlds import attack_with, draw_clean, draw_holes, source_of
from tests.helpers.environments import small_interpreter

COUNT = 30
SEED = 20261129
MOST_FLAGGED = 2 / 30
STARTERS = ("alphabet-sort", "calculator", "reverse-text", "sort-names", "word-ladder")


def main() -> int:
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    count = int(given[0]) if given else COUNT
    seed = int(given[1]) if len(given) > 1 else SEED
    rng = random.Random(seed)
    holed = measure("hole", *draw_worlds("holes", count, rng))
    clean = measure("clean", *draw_worlds("clean", count, rng))
    if "--starters" in sys.argv:
        clean += [starter(name) for name in STARTERS]
    found, flagged = ([each == "leaks" for each in verdicts] for verdicts in (holed, clean))
    print(f"seed {seed}")
    print(f"detected: {rate(found)}, unknown {holed.count('unknown')}")
    print(f"false alarms: {rate(flagged)}, unknown {clean.count('unknown')}")
    return int(sum(flagged) > MOST_FLAGGED * len(flagged))


def draw_worlds(kind: str, count: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """The names and the sources."""
    drawn = (draw_holes if kind == "holes" else draw_clean)(count, rng)
    return [f"{hole.data} {hole.form} {hole.score}" for hole in drawn], list(map(source_of, drawn))


def measure(kind: str, names: list[str], sources: list[str]) -> list[str]:
    """The verdict of each environment."""
    verdicts = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        python = small_interpreter(folder, "")
        site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
        for name, source in zip(names, sources, strict=True):
            shutil.rmtree(site / "__pycache__", ignore_errors=True)
            (site / "tiny_env.py").write_text(source, encoding="utf-8", newline="\n")
            report = attack_with(python, folder, source)
            print(f"{kind}: {report.verdict}: {name}: {report.reason}", flush=True)
            verdicts.append(report.verdict)
    return verdicts


def starter(name: str) -> str:
    command = ["prime", "env", "check", f"starter/{name}", "--attack", "--output", "json"]
    done = subprocess.run(command, capture_output=True, check=False)
    report = json.loads(done.stdout)["attack"]
    print(f"starter: {report['verdict']}: {name}: {report['reason']}", flush=True)
    return str(report["verdict"])


def rate(hits: list[bool]) -> str:
    clusters = [[float(hit)] for hit in hits]
    interval = interval_of(clusters, moments_of(clusters))
    ends = "" if interval is None else f" ({format_interval((interval.low, interval.high))})"
    return f"{sum(hits)} of {len(hits)}{ends}"


if __name__ == "__main__":
    sys.exit(main())
