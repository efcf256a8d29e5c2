"""`prime context rename`."""

from typing import Annotated

import typer

from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session


def rename(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
    new: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Call a context otherwise, with its key.

    \b
    Example:
      prime context rename hub.example.org team
    \b
    See also: `prime context list`.
    """
    from prime_cli.accounts.contexts import rename_with_key

    session = open_session(ctx, output=output, quiet=quiet)
    rename_with_key(settings_of_file(), old, new)
    session.output.done(f"`{old}` is called `{new}` now", value={"name": new, "was": old})
