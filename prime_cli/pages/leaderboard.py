"""The tab of an environment's evaluations: a row for each owner, model and version, ranked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from prime_cli.core.builtin_models import is_baseline
from prime_cli.pages import links
from prime_cli.pages.charts import COLOURS, Curve, Dot, Point, draw_bar, draw_curves, draw_dots
from prime_cli.pages.environment import EnvironmentHead, head_of
from prime_cli.pages.paging import FIRST, Cursor, Room, Window
from prime_cli.pages.plot import Axis
from prime_cli.pages.run_page import ChoiceLink
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import shorten
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.evaluations import HistoryQuery
from prime_cli.wire.locks import ReceiptMark


class LeaderboardPageRow(Struct, frozen=True, kw_only=True):
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
    receipt: ReceiptMark | None = None

    @property
    def is_baseline(self) -> bool:
        """Whether its model is built in, so that it has no rank."""
        return is_baseline(self.model)


class Neighbour(Struct, frozen=True):
    """How a row compares with the next one of its version, that of `model`.

    `verdict` is `higher`, `lower` or `not decisive` by the adjusted `p`; empty if `reason` says why
    they are not compared.
    """

    model: str
    verdict: str = ""
    p: float | None = None
    reason: str = ""


class Neighbours(Struct, frozen=True):
    """Rows that are compared, by the id of the upper one; `problem` says why none could be."""

    found: Mapping[str, Neighbour] = {}
    problem: str = ""


class LeaderboardPage(Struct, frozen=True):
    """The rows in their order, and the models and versions that there are to choose from.

    `is_cut` if there are more rows, below these.
    """

    rows: list[LeaderboardPageRow]
    models: list[str]
    versions: list[str]
    is_cut: bool = False


ROWS = Room(rows=100, row_bytes=300, times=4, bytes=70_000)
"""Of a table of evaluations."""
_NAMES = Room(rows=300, row_bytes=20, bytes=4_000)
_CHIPS = Room(rows=12, row_bytes=60, bytes=10_000)


class LeaderboardRecord(Struct, frozen=True, kw_only=True):
    """Rows of a choice, how neighbours compare, and plots of reward by cost and by version.

    `models` and `versions` are those to choose from, by chips where there is room for all. `bars`
    are those of `rows`.
    """

    head: EnvironmentHead
    board: LeaderboardPage
    rows: Window[LeaderboardPageRow]
    models: Window[str]
    versions: Window[str]
    model: str
    version: str
    receipts: bool
    model_chips: Window[ChoiceLink]
    version_chips: Window[ChoiceLink]
    receipt_chips: list[ChoiceLink]
    neighbours: Neighbours
    bars: list[Html]
    charts: list[Html]


def leaderboard_page(
    detail: EnvironmentDetail,
    board: LeaderboardPage,
    query: HistoryQuery,
    neighbours: Neighbours,
    cursor: Cursor = FIRST,
) -> Page:
    """The tab, narrowed by the model and the version of `query`, with the rows at `cursor`."""
    head = head_of(detail, "evaluations")
    receipts = "1" if query.receipts else ""
    chosen = {
        "model": query.model_name or "",
        "version": query.version or "",
        "receipts": receipts,
    }
    address = partial(_address, links.environment_path(head.slug, "evaluations"), chosen)
    ranked = [row for row in board.rows if not row.is_baseline]
    rows = ROWS.window(board.rows, cursor, address())
    record = LeaderboardRecord(
        head=head,
        board=board,
        rows=rows,
        models=_NAMES.window(board.models),
        versions=_NAMES.window(board.versions),
        model=query.model_name or "",
        version=query.version or "",
        receipts=query.receipts,
        model_chips=_CHIPS.window(_chips("model", board.models, chosen, address)),
        version_chips=_CHIPS.window(_chips("version", board.versions, chosen, address)),
        receipt_chips=[
            ChoiceLink("any", address(receipts=""), not receipts),
            ChoiceLink("valid", address(receipts="1"), bool(receipts)),
        ],
        neighbours=neighbours,
        bars=_bars(rows.shown),
        charts=[*_by_cost(ranked), *_by_version(ranked)],
    )
    command = f"prime eval list --hub --env {head.slug}"
    commands = [command]
    if len(board.rows) > 1:
        two = [row.evaluation_id for row in board.rows[:2]]
        commands += [f"prime eval get {each} --save" for each in two]
        commands.append(f"prime eval compare {' '.join(two)}")
    title = f"Evaluations of {head.slug}"
    return Page("leaderboard.html", title, record, command=tuple(commands))


def _address(path: str, chosen: Mapping[str, str], **others: str) -> str:
    given = urlencode({name: value for name, value in {**chosen, **others}.items() if value})
    return f"{path}?{given}" if given else path


def _chips(
    name: str, values: Sequence[str], chosen: Mapping[str, str], address: Callable[..., str]
) -> list[ChoiceLink]:
    """All of `values`, and each of them."""
    kept = [*values, *({chosen[name]} - {"", *values})]
    return [
        ChoiceLink(value or "all", address(**{name: value}), value == chosen[name])
        for value in ("", *kept)
    ]


# --- Plots ---


def _bars(rows: Sequence[LeaderboardPageRow]) -> list[Html]:
    """The mean rewards on one scale, from 0 to 1 or further, each with its interval."""
    known = [row.mean for row in rows if row.mean is not None]
    ends = [end for row in rows if row.interval for end in row.interval]
    axis = Axis(min([0.0, *known, *ends]), max([1.0, *known, *ends]))
    return [
        Html("" if row.mean is None else draw_bar(row.mean, row.interval, axis)) for row in rows
    ]


_MOST_DOTS = 40
_FEWEST_COSTS = 3
_LONGEST_NAME = 30
_LONGEST_VERSION = 12


def _by_cost(rows: Sequence[LeaderboardPageRow]) -> Iterator[Html]:
    """Reward against cost, if at least three rows with both differ in cost."""
    dots = [
        Dot(
            row.cost,
            row.mean,
            shorten(f"{row.model} {row.version}".rstrip(), _LONGEST_NAME),
            links.evaluation_path(row.evaluation_id),
        )
        for row in rows
        if row.cost is not None and row.mean is not None
    ]
    if len({dot.x for dot in dots}) >= _FEWEST_COSTS:
        title = "Mean reward by cost"
        if len(dots) > _MOST_DOTS:
            title += f" (the {_MOST_DOTS} of {len(dots)} that are ranked highest)"
        yield Html(draw_dots(dots[:_MOST_DOTS], title, "Cost in $", "Mean reward"))


def _by_version(rows: Sequence[LeaderboardPageRow]) -> Iterator[Html]:
    """A curve for each owner and model, those with the most versions first, if any has two."""
    scored = [row for row in rows if row.mean is not None and row.version]
    versions = sorted({row.version for row in scored}, key=_order)
    place = {version: at for at, version in enumerate(versions)}
    of_whom: dict[str, list[Point]] = {}
    for row in sorted(scored, key=lambda row: place[row.version]):
        low, high = row.interval or (None, None)
        point = Point(place[row.version], row.mean or 0.0, low, high)
        of_whom.setdefault(f"{row.model} by {row.owner}", []).append(point)
    curves = sorted(
        (Curve(shorten(name, _LONGEST_NAME), points) for name, points in of_whom.items()),
        key=lambda each: -len(each.points),
    )
    names = [shorten(version, _LONGEST_VERSION) for version in versions]
    if curves and len(curves[0].points) > 1:
        title = "Mean reward by version"
        if len(curves) > COLOURS:
            title += f" (the {COLOURS} of {len(curves)} models with the most versions)"
        yield Html(draw_curves(curves[:COLOURS], title, "Version", "Mean reward", names=names))


def _order(version: str) -> tuple[bool, Version | str]:
    """Versions by what they say, after those that say nothing comparable."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, version
