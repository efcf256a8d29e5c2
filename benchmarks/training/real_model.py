"""Train a real model on names to sort, once for each seed: `real_model.py 0 1 2 [-- OPTIONS]`.

Each training is `prime train` as a user types it, with its own evaluation before and after; what
follows `--` is added to its words. Prints a line for each seed: the held-out reward before and
after, the difference with its 95 % interval, minutes, and the load of the machine when it began.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = """
train starter/sort-names -m builtin/smollm2 --steps 24 --batch 4 -r 8 -t 24 --lr 2e-5
--eval-examples 20 --eval-rollouts 2 --yes --output json
""".split()


def main(argv: list[str]) -> None:
    seeds, _, options = " ".join(argv).partition(" -- ")
    print("seed  before   after  difference (95 %)           p  minutes  load")
    for seed in seeds.split():
        print(train(int(seed), options.split()), flush=True)


def train(seed: int, options: list[str]) -> str:
    load, began = os.getloadavg()[0], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("prime")), *WORDS, "--seed", str(seed)]
        done = subprocess.run([*command, *options], cwd=folder, check=True, stdout=subprocess.PIPE)
    verdict = json.loads(done.stdout)["facts"]["verdict"]
    low, high = verdict["interval"]
    return (
        f"{seed:4}  {verdict['before']:6.3f}  {verdict['after']:6.3f}  "
        f"{verdict['difference']:+.3f} ({low:+.3f} to {high:+.3f})  {verdict['p']:.4f}  "
        f"{(time.monotonic() - began) / 60:7.1f}  {load:4.1f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
