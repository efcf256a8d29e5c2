"""Run by `python -I -S`: with a pod's folder, its lock's descriptor, and the machine's start."""

import sys
from pathlib import Path


def _main() -> None:
    # Isolated, Python looks nowhere but in its standard library.
    sys.path.append(str(Path(__file__).parents[5]))
    from prime_cli.hub.compute.local.keeper.life import live

    live(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])


_main()
