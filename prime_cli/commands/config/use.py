"""`prime config use`: the official client's word for `prime context use`."""

from typing import Annotated

import typer

from prime_cli.commands.context.use import use as use_context
from prime_cli.commands.options import OutputOpt, QuietOpt


def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a hub the current one.

    The same as `prime context use`.

    \b
    Example:
      prime config use team

    See also: `prime context list`, `prime login`.
    """
    use_context(ctx, name, output, quiet)
