"""`prime eval show`, and `prime eval view`, also `prime eval tui`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import UNSET

from prime_cli.commands.contract import WRITES
from prime_cli.commands.eval.summary import summary_lines
from prime_cli.commands.options import common_options, local_options, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_exact
from prime_cli.core.installation import require
from prime_cli.runs.listing import RunRoots, find_run
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.statistics.reducers import THRESHOLD, Reducer, parse_reducers
from prime_cli.runs.summary import Summary
from prime_cli.runs.transcript import parse_position, transcript
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.session import Session
from prime_cli.terminal.output import Output

if TYPE_CHECKING:
    from prime_cli.evals.viewer.catalogue import Catalogue


@local_options(answer=(Summary, dict[str, Any], list[dict[str, Any]]))
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
            show_default="pass@k and pass^k if rewards are 0 and 1",
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
) -> None:
    """Show a saved evaluation.

    `--output jsonl` prints the rollouts, one per line, as in results.jsonl.

    \b
    Example:
      prime eval show
      prime eval show 1f2e3d4c --rollout 0.1
      prime eval show 1f2e3d4c --reduce pass@8,maj@8
    \b
    See also: `prime eval list`, `prime eval run`.
    """
    session = open_session(ctx)
    if sum((rollout is not None, example is not None, errors)) > 1:
        raise UsageError("`--rollout`, `--example` and `--errors` are mutually exclusive")
    reducers = _reducers(reduce, threshold)
    if reducers is not None and (rollout is not None or example is not None or errors):
        raise UsageError("`--reduce` applies to the whole run, not to single rollouts")
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
        _show_summary(session, saved, reducers)


def _show_summary(session: Session, saved: SavedRun, reducers: list[Reducer] | None) -> None:
    with session.progress.task(f"Reading {saved.folder.run_id}"):
        summary = saved.summary(reducers)
        trust = _trust(saved, summary)
    session.output.show(summary, lines=summary_lines(summary))
    _say_trust(session, saved, trust)
    if saved.manifest is not None and saved.manifest.training is not UNSET:
        name = saved.folder.run_id
        session.output.hint(f"its steps and verdict: `prime train show {name}`")


def _trust(saved: SavedRun, summary: Summary) -> list[str]:
    """How far the judges of the run can be trusted; known without judges from the summary alone."""
    if saved.manifest is None or not (saved.manifest.judges or summary.usage.get("roles")):
        return []
    from prime_cli.evals.gate.calibration import judge_trust

    rewards = saved.index.rewards()
    return judge_trust(saved.manifest, saved.charges(), rewards, Path.cwd())


def _say_trust(session: Session, saved: SavedRun, trust: list[str]) -> None:
    for sentence in trust:
        session.output.say(sentence)
    if trust:
        from prime_cli.evals.gate.calibration import NEVER_LABELLED

        if NEVER_LABELLED in trust:
            session.output.hint(f"label rollouts: `prime judge label {saved.folder.run_id}`")


def _reducers(words: str | None, threshold: float | None) -> list[Reducer] | None:
    if words is not None:
        return parse_reducers(words, THRESHOLD if threshold is None else threshold)
    if threshold is not None:
        raise UsageError(
            "`--threshold` needs `--reduce`",
            hint=f"as in `prime eval show --reduce pass@4 --threshold {format_exact(threshold)}`",
        )
    return None


def _at(saved: SavedRun, example: int, rollout: int) -> list[Row]:
    for row in saved.rows():
        if (row.example_id, row.rollout) == (example, rollout):
            return [row]
    raise NotFound(
        f"Run {saved.folder.run_id} has no rollout {example}.{rollout}",
        hint=f"list its rollouts with `prime eval show {saved.folder.run_id} --output jsonl`",
    )


def _of_example(saved: SavedRun, example: int) -> list[Row]:
    rows = [row for row in saved.rows() if row.example_id == example]
    if not rows:
        raise NotFound(
            f"Run {saved.folder.run_id} has no example {example}",
            hint=f"list its rollouts with `prime eval show {saved.folder.run_id} --output jsonl`",
        )
    return rows


def _show_rows(output: Output, rows: list[Row]) -> None:
    if output.mode == "json" and len(rows) != 1:
        output.show([official_row(row) for row in rows])
        return
    for row in rows:
        output.show(official_row(row), lines=transcript(row))


_SIDES = 2


@common_options(effects=WRITES)
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
            help="The folder with the environments.",
            show_default="./environments",
        ),
    ] = None,
    outputs_dir: Annotated[
        Path | None,
        typer.Option(
            "--outputs-dir", "-o", metavar="DIR", help="Other runs.", show_default="./outputs"
        ),
    ] = None,
    web: Annotated[
        bool, typer.Option("--web", help="Show them in a browser, up to four side by side.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="PORT",
            min=0,
            max=65535,
            help="The port for `--web`.",
            show_default="a free one",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="With `--web`: print the address only.")
    ] = False,
) -> None:
    """Browse saved evaluations in a full-screen viewer.

    Shows runs by environment and model, rollouts with filters for reward, error and text (and those
    of a training by step), two runs side by side, and runs in progress. The keys are listed at the
    bottom of the screen.

    \b
    Example:
      prime eval view
      prime eval view 1f2e3d4c
      prime eval view 1f2e3d4c 5a6b7c8d
      prime eval view --web
    \b
    See also: `prime open`, `prime eval show`, `prime eval compare`.
    """
    session = open_session(ctx)
    roots = RunRoots(outputs_dir, env_dir)
    if web:
        from prime_cli.commands.open import view_runs

        view_runs(session, runs or [], roots, port=port or 0, browser=not no_browser)
        return
    if port is not None or no_browser:
        raise UsageError("`--port` and `--no-browser` need `--web`")
    _require_terminal(runs or [])
    require("tui", "The full-screen viewer", "textual")
    from prime_cli.evals.viewer.catalogue import Catalogue

    _open_viewer(Catalogue(Path.cwd(), roots), runs or [])


def _open_viewer(catalogue: "Catalogue", runs: list[str]) -> None:
    if len(runs) > _SIDES:
        raise UsageError("At most two runs can be shown side by side", hint="pass one or two")
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
            "`prime eval view` needs a terminal",
            hint=f"show it as text with `{instead}`, or in a browser with `--web`",
        )
