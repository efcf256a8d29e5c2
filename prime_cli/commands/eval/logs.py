"""`prime eval logs`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.errors import NotFound
from prime_cli.session import Session


def logs(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|EVALUATION]",
            help="A run saved here, else an evaluation of the hub.",
            show_default="the newest here",
        ),
    ] = None,
    tail: Annotated[
        int, typer.Option("--tail", "-n", min=1, help="How many lines, the last ones.")
    ] = 1000,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Print what the environment of an evaluation printed.

    With `--context` it is looked for on that hub alone.

    \b
    Example:
      prime eval logs
      prime eval logs ev_1f2e3d4c --tail 20
    \b
    See also: `prime eval show --errors`, `prime eval get`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    text = None if run is not None and context is not None else _saved_here(run)
    if text is None:
        text = _on_the_hub(session, run or "")
    shown = "".join(text.splitlines(keepends=True)[-tail:])
    session.output.text(shown, record={"logs": shown})
    if not text:
        session.output.say("Nothing was printed, or it was not kept")


def _saved_here(run: str | None) -> str | None:
    """The log of a run of this folder; None where there is no such run."""
    from prime_cli.evals.sharing.logs import find_log, read_log
    from prime_cli.runs.listing import find_run

    try:
        folder = find_run(run, Path.cwd()).folder
    except NotFound:
        if run is None:
            raise
        return None
    path = find_log(folder)
    return "" if path is None else read_log(path)


def _on_the_hub(session: Session, evaluation: str) -> str:
    try:
        return session.hub.evaluations.logs(evaluation)
    except NotFound as missing:
        raise NotFound(
            f"There is neither a run `{evaluation}` here nor an evaluation of that id on "
            f"{session.hub.host}",
            hint="see the ones saved here with `prime eval list`, the hub's with `--hub`",
        ) from missing
