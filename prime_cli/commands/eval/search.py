"""`prime eval search`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.evals.viewer.text_hits import (
    Hit,
    Hits,
    SearchPart,
    WantedText,
    require_text,
    search_runs,
)
from prime_cli.runs.listing import RunRoots, find_run, list_runs
from prime_cli.runs.saved_run import open_run

_HITS = 100


@local_options(answer=Hits, record=Hit)
def search(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was said.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN…]", help="Runs by id or folder.", show_default="all here"),
    ] = None,
    within: Annotated[
        list[SearchPart] | None,
        typer.Option("--in", help="Where; repeatable.", show_default="everywhere"),
    ] = None,
    regex: Annotated[
        bool, typer.Option("--regex", help="TEXT is a regular expression of Python; slower.")
    ] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of passages.")
    ] = _HITS,
    outputs_dir: Annotated[
        Path | None,
        typer.Option("--outputs-dir", metavar="DIR", help="Other runs.", show_default="./outputs"),
    ] = None,
) -> None:
    """Search the rollouts of saved evaluations.

    Finds TEXT in what models answered and thought (answers), what they were told (prompts), calls
    of tools and their results (tools), and errors, the newest run first. Of each rollout the last
    attempt is searched; of what was said at once, the first passage is shown.

    \b
    Example:
      prime eval search "I cannot help"
      prime eval search -i timeout --in errors --in tools
      prime eval search --regex 'answer: \\d{4}' 1f2e3d4c --output json
    \b
    See also: `prime eval show`, `prime eval view`, `prime eval list`.
    """
    session = open_session(ctx)
    wanted = WantedText(text, regex, ignore_case, frozenset(within or SearchPart))
    require_text(wanted)

    def skip(path: Path, error: UsageError) -> None:
        session.output.warn(f"{path} is left out: {error.message}")

    here = Path.cwd()
    if runs:
        chosen = [find_run(word, here, RunRoots(outputs_dir)) for word in runs]
    else:
        listed = list_runs(here, RunRoots(outputs_dir), skip)
        chosen = [open_run(Path(item.path)) for item in listed]
    found = search_runs(chosen, wanted, limit, session.progress)
    session.output.table(
        ("Run", "Rollout", "Said by", "Text"),
        [[each.run_id, each.rollout, each.said_by, each.snippet] for each in found.hits],
        records=found.hits,
        page=found,
    )
    if found.more:
        session.output.hint(f"there is more: add `--limit {10 * limit}`, or name a run")
    elif not found.hits:
        session.output.say(f"Nothing in {pluralize(found.runs, 'run')} has that text")
    else:
        first = found.hits[0]
        session.output.hint(f"`prime eval show {first.run_id} --rollout {first.rollout}`")
