"""What several commands for pods take."""

from typing import Annotated

import typer

PodArg = Annotated[
    str, typer.Argument(metavar="POD", help="Its name, its id or the beginning of that.")
]
LimitOpt = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows to show.")]
OffsetOpt = Annotated[int, typer.Option("--offset", min=0, help="Rows to skip.")]
