"""The one place where a command line becomes an exit code."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prime_cli.session import Session


def run() -> None:
    """The console script: answer what needs no Typer at once, else run and exit."""
    argv = sys.argv[1:]
    if argv == ["--version"]:
        from prime_cli import __version__

        sys.stdout.write(f"prime {__version__}\n")
        return
    code = main(argv)
    sys.stdout.flush()
    os._exit(code) if code == 0 and not _has_threads() else sys.exit(code)


def _has_threads() -> bool:
    threading = sys.modules.get("threading")
    return threading is not None and threading.active_count() > 1


def main(argv: Sequence[str] | None = None, session: "Session | None" = None) -> int:
    """Run `prime` with `argv`; returns the exit code of the design's section 4."""
    from prime_cli.commands import app
    from prime_cli.session import Session

    session = session or Session()
    try:
        app(args=list(argv) if argv is not None else None, obj=session, prog_name="prime")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    return 0
