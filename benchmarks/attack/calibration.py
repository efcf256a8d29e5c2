"""How often `prime env check --attack` finds a planted hole, and how often it finds one in none.

    python benchmarks/attack/calibration.py [COUNT] [SEED] [--starters] [--projects FOLDER]
    python benchmarks/attack/calibration.py [COUNT] [SEED] --templates

Makes COUNT (30) environments with a hole in their reward and as many without, from the data, forms
and rewards of `tests/evals/env_check/attack/worlds.py`, and attacks each with 20 examples and 150
calls of search. Prints each verdict, and both rates with their 95 % intervals. With `--starters`
the environments that come with prime are attacked too, with their own release of verifiers; with
`--projects` so are those below FOLDER, which may have holes of their own and are only counted. With
`--templates` COUNT (8) of each are made from the templates of `prime env init` instead, for
verifiers 0.4. Fails when more than 2 of 30 clean ones are flagged.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.attack.templates import Template, attack_template, draw_templates
from prime_cli.core.formatting import format_interval
from prime_cli.runs.statistics.intervals import interval_of, moments_of
from tests.evals.env_check.attack.worlds import attack_with, draw_clean, draw_holes, source_of
from tests.helpers.environments import small_interpreter

COUNT = 30
TEMPLATES = 8
SECONDS = 600
"""For one environment that is attacked by its name."""
SEED = 20261129
MOST_FLAGGED = 2 / 30
STARTERS = ("alphabet-sort", "calculator", "reverse-text", "sort-names", "word-ladder")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?")
    parser.add_argument("seed", type=int, nargs="?", default=SEED)
    parser.add_argument("--starters", action="store_true")
    parser.add_argument("--templates", action="store_true")
    parser.add_argument("--projects", type=Path)
    given = parser.parse_args()
    seed, rng = given.seed, random.Random(given.seed)
    if given.templates:
        drawn = draw_templates(given.count or TEMPLATES, rng)
        holed, clean = (list(map(measure_template, each)) for each in drawn)
    else:
        count = COUNT if given.count is None else given.count
        holed = measure("hole", *draw_worlds("holes", count, rng))
        clean = measure("clean", *draw_worlds("clean", count, rng))
    if given.starters:
        clean += [attack_named(f"starter/{name}") for name in STARTERS]
    projects = sorted(given.projects.glob("*/pyproject.toml")) if given.projects else []
    if projects:
        print(dict(Counter(attack_named(str(file.parent)) for file in projects)))
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


def measure_template(template: Template) -> str:
    """Its verdict."""
    with tempfile.TemporaryDirectory() as place:
        report = attack_template(template, Path(place))
    kind = "hole" if template.hole else "clean"
    print(f"{kind}: {report.verdict}: {template}: {report.reason}", flush=True)
    return report.verdict


def attack_named(word: str) -> str:
    """The verdict of an environment as a user attacks it, `no load` if it does not load here."""
    command = ["prime", "env", "check", word, "--attack", "--output", "json"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        print(f"named: too slow: {Path(word).name}", flush=True)
        return "too slow"
    report = json.loads(done.stdout or "{}").get("attack") or {"verdict": "no load", "reason": ""}
    print(f"named: {report['verdict']}: {Path(word).name}: {report['reason']}", flush=True)
    return str(report["verdict"])


def rate(hits: list[bool]) -> str:
    clusters = [[float(hit)] for hit in hits]
    interval = interval_of(clusters, moments_of(clusters)) if hits else None
    ends = "" if interval is None else f" ({format_interval((interval.low, interval.high))})"
    return f"{sum(hits)} of {len(hits)}{ends}"


if __name__ == "__main__":
    sys.exit(main())
