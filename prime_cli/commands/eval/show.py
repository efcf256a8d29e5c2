"""`prime eval show`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.eval.views import summary_lines
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.runs.listing import find_run
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.transcript import parse_position, transcript
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.statistics.reducers import THRESHOLD, Reducer, parse_reducers
from prime_cli.terminal.output import Output


def show(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run's id or its folder.", show_default="the newest here"),
    ] = None,
    rollout: Annotated[
        str | None,
        typer.Option("--rollout", metavar="I.J", help="Print rollout J of example I, from 0."),
    ] = None,
    example: Annotated[
        int | None, typer.Option("--example", metavar="I", help="Print all rollouts of example I.")
    ] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Print the rollouts that ended in an error.")
    ] = False,
    reduce: Annotated[
        str | None,
        typer.Option(
            "--reduce",
            metavar="LIST",
            help="Reduce k rollouts: pass@4, pass^4, maj@4, best@4.",
            show_default="pass@k and pass^k where rewards are 0 and 1",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            help="Lowest reward that passes.",
            show_default=str(THRESHOLD),
        ),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Show a saved evaluation.

    With `--output jsonl` the rollouts, one a line, as in results.jsonl.

    \b
    Example:
      prime eval show
      prime eval show 1f2e3d4c --rollout 0.1
      prime eval show 1f2e3d4c --reduce pass@8,maj@8
    \b
    See also: `prime eval list`, `prime eval run`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    if sum((rollout is not None, example is not None, errors)) > 1:
        raise UsageError("`--rollout`, `--example` and `--errors` exclude each other")
    reducers = _reducers(reduce, threshold)
    if reducers is not None and (rollout is not None or example is not None or errors):
        raise UsageError("`--reduce` is of the whole run and goes with no rollouts of it")
    saved = find_run(run, Path.cwd())
    if rollout is not None:
        _show_rows(session.output, _at(saved, *parse_position(rollout)))
    elif example is not None:
        _show_rows(session.output, _of_example(saved, example))
    elif errors:
        errored = [row for row in saved.rows() if row.error is not None]
        _show_rows(session.output, errored)
        if not errored:
            session.output.say(f"No rollout of run {saved.folder.run_id} ended in an error")
    elif session.output.mode == "jsonl":
        for row in saved.rows():
            session.output.show(official_row(row))
    else:
        with session.progress.task(f"Reading {saved.folder.run_id}"):
            summary = saved.summary(reducers)
        session.output.show(summary, lines=summary_lines(summary))


def _reducers(words: str | None, threshold: float | None) -> list[Reducer] | None:
    if words is not None:
        return parse_reducers(words, THRESHOLD if threshold is None else threshold)
    if threshold is not None:
        raise UsageError(
            "`--threshold` says from where on rollouts pass, for `--reduce`",
            hint=f"as in `prime eval show --reduce pass@4 --threshold {threshold:g}`",
        )
    return None


def _at(saved: SavedRun, example: int, rollout: int) -> list[Row]:
    for row in saved.rows():
        if (row.example_id, row.rollout) == (example, rollout):
            return [row]
    raise NotFound(
        f"Run {saved.folder.run_id} has no rollout {example}.{rollout}",
        hint=f"see what it has with `prime eval show {saved.folder.run_id} --output jsonl`",
    )


def _of_example(saved: SavedRun, example: int) -> list[Row]:
    rows = [row for row in saved.rows() if row.example_id == example]
    if not rows:
        raise NotFound(
            f"Run {saved.folder.run_id} has no example {example}",
            hint=f"see what it has with `prime eval show {saved.folder.run_id} --output jsonl`",
        )
    return rows


def _show_rows(output: Output, rows: list[Row]) -> None:
    if output.mode == "json" and len(rows) != 1:
        output.show([official_row(row) for row in rows])
        return
    for row in rows:
        output.show(official_row(row), lines=transcript(row))
