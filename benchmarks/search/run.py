"""Time of `prime eval search TEXT` over a run of any size.

    python benchmarks/search/run.py [ROLLOUTS]

Makes a run of so many rollouts (1,000,000, some 1.1 KB each) and searches it for a text that one
of them has, for one that none has, without case, and by an expression, which decodes every line.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    rollouts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    last = f"answer {rollouts - 1}"
    with tempfile.TemporaryDirectory() as name:
        run = made_run(Path(name), rollouts)
        print(f"{rollouts:,} rollouts, {run.journal.stat().st_size / 1e6:.0f} MB")
        for words in ([last], ["no such text"], [last.upper(), "-i"], [f"{last}$", "--regex"]):
            began = time.monotonic()
            command = (sys.executable, "-m", "prime_cli", "eval", "search", *words, str(run.path))
            done = subprocess.run(
                [*command, "-o", "plain"], check=True, capture_output=True, encoding="utf-8"
            )
            print(f"{' '.join(words):32} {time.monotonic() - began:6.2f} s  {done.stdout.strip()}")


def made_run(folder, rollouts):
    """As the benchmark of the viewer makes it."""
    path = Path(__file__).parents[1] / "view" / "run.py"
    spec = importlib.util.spec_from_file_location("view", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["view"] = module
    spec.loader.exec_module(module)
    return module.make_run(folder / "large", rollouts)


if __name__ == "__main__":
    main()
