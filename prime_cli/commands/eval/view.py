"""`prime eval view`, also `prime eval tui`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.commands.options import open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.extras import require
from prime_cli.runs.listing import Roots

if TYPE_CHECKING:
    from prime_cli.evals.viewer.catalogue import Catalogue

_SIDES = 2


def view(
    ctx: typer.Context,
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="A run's id or its folder; two are compared.",
            show_default="a list of all",
        ),
    ] = None,
    env_dir: Annotated[
        Path | None,
        typer.Option(
            "--env-dir",
            "-e",
            metavar="DIR",
            help="Environments with runs of their own.",
            show_default="./environments",
        ),
    ] = None,
    outputs_dir: Annotated[
        Path | None,
        typer.Option(
            "--outputs-dir", "-o", metavar="DIR", help="Other runs.", show_default="./outputs"
        ),
    ] = None,
) -> None:
    """Look at saved evaluations on the whole screen.

    Runs by environment and model, rollouts filtered by reward, error and text, two runs side by
    side, and runs that are still going. The keys are named at the foot of the screen.

    \b
    Example:
      prime eval view
      prime eval view 1f2e3d4c
      prime eval view 1f2e3d4c 5a6b7c8d
    \b
    See also: `prime eval show`, `prime eval list`, `prime eval compare`.
    """
    open_session(ctx)
    _require_terminal(runs or [])
    require("tui", "Looking at evaluations on the whole screen", "textual")
    from prime_cli.evals.viewer.catalogue import Catalogue

    _show(Catalogue(Path.cwd(), Roots(outputs_dir, env_dir)), runs or [])


def _show(catalogue: "Catalogue", runs: list[str]) -> None:
    if len(runs) > _SIDES:
        raise UsageError("At most two runs are shown side by side", hint="name one or two")
    paths = [catalogue.find(run) for run in runs]
    from prime_cli.terminal.viewer.app import show_pair, show_run, show_runs

    if not paths:
        show_runs(catalogue)
    elif len(paths) == 1:
        show_run(catalogue.open(paths[0]))
    else:
        show_pair(catalogue.pair(*paths))


def _require_terminal(runs: list[str]) -> None:
    # Textual draws on stderr.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        words = {0: "list", 1: "show"}.get(len(runs), "compare")
        instead = " ".join(("prime eval", words, *runs))
        raise UsageError(
            "`prime eval view` needs a terminal, and this is none",
            hint=f"see the same as text with `{instead}`",
        )
