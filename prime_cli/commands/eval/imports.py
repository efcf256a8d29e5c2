"""`prime eval import`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.eval.summary import summary_lines
from prime_cli.commands.options import OFFLINE, local_options, open_session
from prime_cli.evals.imports.import_run import import_run
from prime_cli.runs.summary import Summary


@local_options(OFFLINE, answer=Summary, effects=BUILDS)
def import_log(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="FILE|FOLDER", help="The log.", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the environment.", show_default="the log's"),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option("--scorer", help="The score that is the reward.", show_default="the first"),
    ] = None,
) -> None:
    """Import a run of another tool.

    Reads logs of inspect_ai, by inspect_ai itself, which uv installs beside, and folders of trials
    of Harbor or of trajectories (ATIF). What such a log lacks and what was chosen of it is kept in
    the run. Importing it again finds the same run. Folders of vf-eval need no import.

    \b
    Example:
      prime eval import logs/2026-01-02_gsm8k.eval
      prime eval import logs/2026-01-02_gsm8k.eval --scorer match --name me/gsm8k
      prime eval import jobs/2026-01-02__03-04-05
    \b
    See also: `prime eval show`, `prime eval compare`, `prime eval push`.
    """
    session = open_session(ctx)
    here, offline = Path.cwd(), session.config.offline
    done = import_run(*(path, here, session.progress), name=name, scorer=scorer, offline=offline)
    summary = done.run.summary()
    if done.is_known:
        session.output.say(f"It was imported before, as run {summary.run_id}")
    session.output.show(summary, lines=summary_lines(summary))
