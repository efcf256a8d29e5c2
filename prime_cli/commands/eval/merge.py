"""`prime eval merge`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.eval.summary import summary_lines
from prime_cli.commands.options import OUTPUT, QUIET, common_options, open_session
from prime_cli.core.errors import ExitCode
from prime_cli.evals.shards.merge import merge_runs
from prime_cli.runs.summary import Summary


@common_options(OUTPUT, QUIET, answer=Summary, effects=WRITES, exits=ExitCode.PARTIAL)
def merge(
    ctx: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|RUN…",
            help="Folders with parts, or parts by id or folder.",
            show_default=False,
        ),
    ],
    partial: Annotated[
        bool, typer.Option("--partial", help="Merge what is there, if some rollouts are missing.")
    ] = False,
    output_dir: Annotated[
        str | None,
        typer.Option(
            "--output-dir",
            metavar="DIR",
            help="Save the run in DIR/evals.",
            show_default="outputs",
        ),
    ] = None,
) -> None:
    """Merge the parts of an evaluation into one run.

    The parts are runs made with `--shard I/N`. They must have the same plan, packages and
    examples, and are kept. `prime eval run --resume` completes a partial merge here.

    \b
    Example:
      prime eval merge outputs
      prime eval merge 1f2e3d4c 5a6b7c8d
      prime eval merge /shared/outputs --partial
    \b
    See also: `prime eval run`, `prime eval show`, `prime eval push`.
    """
    session = open_session(ctx)
    result = merge_runs(runs, Path.cwd(), session.progress, outputs=output_dir, partial=partial)
    session.output.show(result.summary, lines=summary_lines(result.summary))
