"""Two to four local runs beside each other, and their rollouts."""

import shlex
from collections.abc import Sequence

from prime_cli.core.errors import UsageError
from prime_cli.pages.comparison import (
    FEWEST,
    MOST,
    Beside,
    ComparedRun,
    ComparisonSite,
    ComparisonView,
    SidesView,
    compare_sides,
    view_compared,
)
from prime_cli.pages.paging import Cursor
from prime_cli.pages.runs import Link
from prime_cli.pages.templates import ErrorMessage
from prime_cli.runs.comparison.sides import side_of
from prime_cli.web.library import Library, run_path
from prime_cli.web.opened import LocalRun
from prime_cli.web.rollout_view import view_local_rollout

_SITE = ComparisonSite("/compare", "run", Link("list of runs", "/runs"))
_CHOOSE = "Choose two to four runs"


def view_comparison(
    library: Library, names: Sequence[str], page: int, *, force: bool
) -> ComparisonView:
    """Each run against the first.

    Runs that cannot be compared, or no scipy, are a sentence on the page. Raises NotFound.
    """
    names = list(dict.fromkeys(names))
    if not FEWEST <= len(names) <= MOST:
        problem = ErrorMessage(_CHOOSE) if names else None
        return ComparisonView(_SITE, command=["prime eval compare RUN RUN"], problem=problem)
    runs = [library.find(name) for name in names]
    compared = _compared(names, runs)
    found = compare_sides(
        [side_of(run.saved) for run in runs],
        [each.model for each in compared],
        purpose="Comparing runs",
        force=force,
    )
    words = ["prime", "eval", "compare", *(run.run_id for run in runs)]
    command = shlex.join([*words, "--force"] if force else words)
    return view_compared(_SITE, compared, found, [command], page=page, force=force)


def _compared(names: Sequence[str], runs: Sequence[LocalRun]) -> list[ComparedRun]:
    pairs = zip(names, runs, strict=True)
    return [ComparedRun(name, name, run.model, run_path(name)) for name, run in pairs]


def view_sides(
    library: Library,
    names: Sequence[str],
    example: int,
    rollout: int,
    cursor: Cursor | None = None,
) -> SidesView:
    """The rollouts of an example in each run; raises NotFound, UsageError."""
    names = list(dict.fromkeys(names))
    if not FEWEST <= len(names) <= MOST:
        raise UsageError(_CHOOSE, hint="in the list of runs")
    runs = [library.find(name) for name in names]
    numbers = sorted({number for run in runs for number in _rollouts(run, example)})
    return SidesView(
        site=_SITE,
        example=example,
        rollout=rollout,
        command=[_view_command([run.run_id for run in runs])],
        back=_SITE.address(names),
        sides=[
            _beside(each, run, example, rollout, len(runs))
            for each, run in zip(_compared(names, runs), runs, strict=True)
        ],
        others=_SITE.rollouts(names, example, rollout, numbers, cursor),
    )


def _beside(each: ComparedRun, run: LocalRun, example: int, rollout: int, share: int) -> Beside:
    if run.index.find(example, rollout) is None:
        return Beside(each, None, "This run has no such rollout")
    return Beside(each, view_local_rollout(run, each.key, example, rollout, share=share))


def _view_command(runs: Sequence[str]) -> str:
    """The viewer shows two runs beside each other, and more only in a browser."""
    web = ["--web"] if len(runs) > FEWEST else []
    return shlex.join(["prime", "eval", "view", *runs, *web])


def _rollouts(run: LocalRun, example: int) -> list[int]:
    grid = run.grid()
    index = grid.index_of(example)
    if index >= len(grid) or grid.example_at(index) != example:
        return []
    return [cell.rollout for cell in grid.row(index).cells]
