"""The tab of an environment's evaluations: a row for each owner, model and version, best first."""

from msgspec import Struct

from prime_cli.pages import links
from prime_cli.pages.charts import Dot, draw_dots
from prime_cli.pages.environment import EnvironmentHead, head_of
from prime_cli.pages.templates import Html, Page
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.evaluations import HistoryQuery


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One evaluation.

    `mean` leaves errors out, and `with_errors` counts them as 0; None without errors. `interval` is
    that of 95 % over examples. `cost` is in dollars, `tokens` are of input and output.
    """

    evaluation_id: str
    name: str
    model: str
    version: str
    mean: float | None
    interval: tuple[float, float] | None
    examples: int | None
    rollouts: int | None
    samples: int
    errors: int
    with_errors: float | None
    cost: float | None
    tokens: int | None
    date: str | None
    owner: str


class Leaderboard(Struct, frozen=True):
    """The rows in their order, and the models and versions that there are to choose from.

    `is_cut` if there are more rows, with lower means.
    """

    rows: list[LeaderboardRow]
    models: list[str]
    versions: list[str]
    is_cut: bool = False


class LeaderboardRecord(Struct, frozen=True, kw_only=True):
    """The rows of a choice, and a plot of reward against cost; None if less than two have both."""

    head: EnvironmentHead
    board: Leaderboard
    model: str
    version: str
    chart: Html | None


def leaderboard_page(detail: EnvironmentDetail, board: Leaderboard, query: HistoryQuery) -> Page:
    """The tab, narrowed by the model and the version of `query`."""
    head = head_of(detail, "evaluations")
    dots = [
        Dot(
            row.cost,
            row.mean,
            f"{row.model} {row.version}".rstrip(),
            links.evaluation_path(row.evaluation_id),
        )
        for row in board.rows
        if row.cost is not None and row.mean is not None
    ]
    drawn = draw_dots(dots, "Mean reward by cost", "Cost in $", "Mean reward")
    record = LeaderboardRecord(
        head=head,
        board=board,
        model=query.model_name or "",
        version=query.version or "",
        chart=Html(drawn) if len(dots) > 1 else None,
    )
    command = f"prime eval list --hub --env {head.slug}"
    return Page("leaderboard.html", f"Evaluations of {head.slug}", record, command=(command,))
