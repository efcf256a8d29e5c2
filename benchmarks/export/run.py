"""Time and memory of `prime eval export` for a run of many rollouts, form by form.

    python benchmarks/export/run.py [--rollouts 10000] [--bytes 6000] [--work FOLDER]

Makes a run of that many rollouts, each with about so many bytes of text, and exports it with a
process of its own for each form; the figures are those of that process (Linux: wait4). With
Chromium on the machine also: the time until the page shows its rollouts, and until a search through
all transcripts has ended.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from prime_cli.runs.folder import Journal
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.scrubber import Scrubber
from tests.helpers.browser import browsing
from tests.runs.saving import save_run

FORMS = {"html": "run.html", "csv": "run.csv", "hf": "run"}
WORDS = Path(__file__).read_text(encoding="utf-8").split()
ROLLOUTS_OF_ONE = 4


def rows(count: int, size: int) -> Iterator[Row]:
    """Rollouts of two turns with a tool call, one in fifty an error."""
    chance = random.Random(1)  # the same run each time
    for number in range(count):
        example, rollout = divmod(number, ROLLOUTS_OF_ONE)
        text = " ".join(chance.choices(WORDS, k=size // 20))
        broken = number % 50 == 49
        yield Row(
            example_id=example,
            rollout=rollout,
            reward=None if broken else chance.random(),
            error=Failure("infra", "APITimeoutError", "Request timed out") if broken else None,
            metrics={"correct": chance.random(), "format": 1.0},
            prompt=[{"role": "user", "content": text}],
            completion=[
                {"role": "assistant", "content": text, "tool_calls": ['{"name":"look"}']},
                {"role": "tool", "content": f"rollout number {number}"},
                {"role": "assistant", "content": text[: size // 4]},
            ],
            answer="42",
            usage={"calls": 2, "input": 700, "output": 300},
            timing={"total": 2.5},
        )


def make_run(folder: Path, count: int, size: int) -> Path:
    """The folder of a finished run."""
    run = save_run(folder, planned=count, examples=count // ROLLOUTS_OF_ONE)
    with Journal(run.journal, Scrubber({})) as journal:
        for row in rows(count, size):
            journal.append(row)
    return run.path


def export(run: Path, form: str, out: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of the process that exports."""
    began = time.perf_counter()
    argv = [sys.executable, "-c", "from prime_cli.main import run; run()", "eval", "export"]
    argv += [str(run), "--to", form, "--out", str(out), "--quiet"]
    pid = os.posix_spawn(sys.executable, argv, os.environ)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"the export to {form} ended with {os.waitstatus_to_exitcode(status)}")
    wall = time.perf_counter() - began
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


async def look(page_file: Path, profile: Path) -> tuple[float, float]:
    """Seconds until a browser lists the rollouts of the page, and for a search through all."""
    async with browsing(profile) as page:
        began = time.perf_counter()
        await page.open(page_file)
        await page.until("document.querySelectorAll('#list tr').length > 1")
        opened = time.perf_counter() - began
        began = time.perf_counter()
        await page.run("byId('text').value = 'rollout number 77'; filter()")
        return opened, time.perf_counter() - began


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    """Print one row a form."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rollouts", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=6_000)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work, ignore_cleanup_errors=True) as name:
        work = Path(name)
        run = make_run(work, options.rollouts, options.bytes)
        journal = size_of(run / "journal.jsonl") / 1e6
        print(
            f"{options.rollouts} rollouts, journal {journal:.1f} MB, load {os.getloadavg()[0]:.1f}"
        )
        print("| form | wall s | CPU s | peak MiB | MB |\n|---|---|---|---|---|")
        for form, file in FORMS.items():
            wall, cpu, memory = export(run, form, work / file)
            size = size_of(work / file) / 1e6
            print(f"| {form} | {wall:.1f} | {cpu:.1f} | {memory:.0f} | {size:.1f} |")
        if shutil.which("chromium"):
            opened, searched = asyncio.run(look(work / FORMS["html"], work / "profile"))
            print(f"page opened in {opened:.2f} s, all transcripts searched in {searched:.2f} s")


if __name__ == "__main__":
    main()
