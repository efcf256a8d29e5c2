"""The options of `prime eval gate`, which `prime eval run` has too."""

from pathlib import Path
from typing import Annotated

import typer

_GATES = "Gates and reports"

FailUnderOpt = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        metavar="REWARD",
        help="Exit 1 when the mean reward is lower.",
        rich_help_panel=_GATES,
    ),
]
BaselineOpt = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="RUN|EVALUATION",
        help="A run to compare with, here or on a hub.",
        rich_help_panel=_GATES,
    ),
]
MaxDropOpt = Annotated[
    float | None,
    typer.Option(
        "--max-drop",
        metavar="D",
        help="Exit 1 when the reward drops by more than D.",
        rich_help_panel=_GATES,
    ),
]
JunitOpt = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write a JUnit report there.", rich_help_panel=_GATES
    ),
]
GithubSummaryOpt = Annotated[
    bool | None,
    typer.Option(
        "--github-summary/--no-github-summary",
        help="Append to GitHub's step summary.",
        show_default="where GitHub asks for one",
        rich_help_panel=_GATES,
    ),
]
