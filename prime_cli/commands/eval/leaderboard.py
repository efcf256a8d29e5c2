"""`prime eval leaderboard`, and how a suite's standings are shown."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.formatting import format_interval, format_number, format_usd
from prime_cli.core.paths import write_atomically
from prime_cli.evals.suites.leaderboard import Leaderboard, LeaderboardRow, csv_of, make_leaderboard
from prime_cli.evals.suites.record import find_suite
from prime_cli.terminal.output import Output

_COLUMNS = ("#", "Evaluation", "Reward", "95 %", "Scored", "Errors", "Cost", "Status", "Run")


@local_options(answer=Leaderboard, record=LeaderboardRow, effects=WRITES)
def leaderboard(
    ctx: typer.Context,
    suite: Annotated[
        str | None,
        typer.Argument(help="A suite's id or its folder.", show_default="the newest here"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Print it as CSV.")
    ] = None,
) -> None:
    """Show the leaderboard of a suite.

    The best model has the highest lower end of the 95 % interval, so few examples do not beat many.
    Built-in models are baselines without a rank.

    Run a suite with `prime eval run SUITE.toml`; it is saved in `./outputs/suites`.

    \b
    Example:
      prime eval leaderboard
      prime eval leaderboard 1f2e3d4c --csv board.csv
    \b
    See also: `prime eval run`, `prime eval compare`, `prime eval list`.
    """
    session = open_session(ctx)
    _, record = find_suite(suite, Path.cwd())
    board = make_leaderboard(record, Path.cwd())
    if csv is None:
        show_leaderboard(session.output, board)
        for standing in board.standings:
            if standing.failure:
                session.output.say(f"{standing.key}: {standing.failure}")
        return
    write_atomically(csv, csv_of(board).encode("utf-8"), mode=0o644)
    session.output.say(f"Wrote {csv}")


def show_leaderboard(output: Output, board: Leaderboard) -> None:
    """The standings as a table; as JSON the whole record, as lines one standing each."""
    rows = [_row(standing) for standing in board.standings]
    output.table(_COLUMNS, rows, records=board.standings, page=board, title=board.name)
    if any(standing.reward is not None and standing.rank is None for standing in board.standings):
        output.say(
            "Without a rank: built-in models, which are baselines, and rewards without an interval"
        )
    if board.cost is not None and board.cost > 0:
        output.say(f"Total cost: {format_usd(board.cost)}")


def _row(standing: LeaderboardRow) -> list[str]:
    return [
        "" if standing.rank is None else str(standing.rank),
        standing.key,
        format_number(standing.reward),
        format_interval(standing.interval),
        f"{standing.scored:,}/{standing.planned:,}" if standing.planned else "",
        str(standing.errored or ""),
        format_usd(standing.cost),
        standing.status,
        standing.run_id or "",
    ]
