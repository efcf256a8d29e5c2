"""`kill -9` of a run, a hub, a supervisor or an engine at moments by chance, with sandboxes in use.

    python benchmarks/kill/sandboxes.py [ROUNDS] [--seed N] [--engine]

After each, a creation that is tried again with its key is one sandbox, and after `prime gc` nothing
is left: no process, container or control group, and no row that is not final; else this ends with
a traceback. With `--engine` half of the sandboxes are containers of a Podman of its own.
"""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from prime_cli.hub.supervisors import last_lines
from tests.helpers.engines import podman_with_python
from tests.helpers.kills.sandboxes import KilledSandboxes, Tally

AT_ONCE = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    parser.add_argument("--engine", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    engine = podman_with_python() if options.engine else None
    tally = Tally()
    for part in range(-(-options.rounds // AT_ONCE)):
        with tempfile.TemporaryDirectory(prefix="prime-kill-") as folder:
            chance = random.Random(options.seed + part)
            killed = KilledSandboxes(Path(folder), chance, engine, tally)
            try:
                killed.run(min(AT_ONCE, options.rounds - part * AT_ONCE))
            except BaseException:
                print(*tally.lines(), *killed.story, last_lines(killed.log, 60), sep="\n")
                raise
        print(*tally.lines(), f"load average {os.getloadavg()[0]:.1f}", sep="\n", flush=True)


if __name__ == "__main__":
    main()
