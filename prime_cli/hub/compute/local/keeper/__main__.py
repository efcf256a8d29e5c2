"""Run by `python -I -S`, with the folder of a pod and the descriptor of its lock."""

import sys
from pathlib import Path


def _main() -> None:
    # Isolated, Python looks nowhere but in its standard library.
    sys.path.append(str(Path(__file__).parents[5]))
    from prime_cli.hub.compute.local.keeper.life import live

    live(Path(sys.argv[1]), int(sys.argv[2]))


_main()
