"""`prime config set`."""

from typing import Annotated

import typer

from prime_cli.commands.config.writing import report, team_context
from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import ContextOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.core.config.edit import save_context, set_entry, set_value, use_context
from prime_cli.core.config.settings import CONTEXT, ENV_VARS, TEAM, environment_in, find_setting


def set_(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
) -> None:
    """Write a setting into config.toml.

    Comments and order of the file stay. `context` is the current hub, `team` belongs to the
    context; `env-vars.owner/name` are variables that this environment may read although they look
    like secrets. A key is no setting: `prime login --token-stdin` keeps one.

    \b
    Example:
      prime config set owner ada
      prime config set upstream none
      prime config set env-vars.ada/wordle SERPER_KEY,JUDGE_KEY

    See also: `prime config show`, `prime config unset`, `prime switch`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context)
    known = find_setting(name)
    value = value.strip()
    written = known.to_toml(value)
    file = settings_of_file().file
    if known is CONTEXT:
        use_context(file, value)
    elif known is TEAM:
        save_context(file, team_context(session), {"team": None if value == PERSONAL else value})
    elif environment := environment_in(known.name):
        set_entry(file, ENV_VARS, environment, list(known.parse(value, known.name)))
    else:
        set_value(file, known.name, written)
    report(session, known.name, written)
