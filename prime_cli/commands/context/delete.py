"""`prime context delete`."""

from typing import Annotated

import typer

from prime_cli.commands.context.places import kept_keys, settings_of_file
from prime_cli.commands.options import NoQuestionOpt, OutputOpt, QuietOpt, open_session


def delete(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context.")],
    yes: NoQuestionOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Forget a hub and its key.

    The key stays good on the hub: `prime logout` revokes it first.

    \b
    Example:
      prime context delete team --yes
    \b
    See also: `prime logout`, `prime context list`.
    """
    from prime_cli.accounts.contexts import delete_with_key, require_deletable

    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    require_deletable(config, name)
    if name in kept_keys(config):
        session.output.confirm(
            f"Forget `{name}` and its key?", yes=yes, otherwise="Nothing was changed"
        )
    was_current = delete_with_key(config, name)
    session.output.done(f"`{name}` is forgotten", value={"name": name})
    if was_current:
        session.output.say("The hub in this process (`local`) is the current one now")
