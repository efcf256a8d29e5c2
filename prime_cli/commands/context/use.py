"""`prime context use`, also `prime config use`."""

from typing import Annotated

import typer

from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.commands.overruled import warn_overruled
from prime_cli.core.config.edit import use_context


def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a hub the current one.

    \b
    Example:
      prime context use team
      prime context use local
    \b
    See also: `prime context list`, `prime login`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    use_context(settings_of_file().file, name)
    session.output.done(f"`{name}` is the current hub now", value={"context": name})
    warn_overruled(session, name, has_key=False)
