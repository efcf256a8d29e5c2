"""`prime config unset`."""

from typing import Annotated

import typer

from prime_cli.commands.config.writing import report, team_context
from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import ContextOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.config.edit import save_context, set_entry, unset_value
from prime_cli.core.config.settings import ENV_VARS, TEAM, environment_in, find_setting


def unset(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
) -> None:
    """Take a setting out of config.toml.

    The default holds then, or a variable. It is no error if nothing was there.

    \b
    Example:
      prime config unset upstream

    See also: `prime config show`, `prime config set`, `prime logout`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context)
    known = find_setting(name)
    file = settings_of_file().file
    if known is TEAM:
        save_context(file, team_context(session), {"team": None})
    elif environment := environment_in(known.name):
        set_entry(file, ENV_VARS, environment, None)
    else:
        unset_value(file, known.name)
    report(session, known.name, None)
