"""`prime config get`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.config import DEFAULT, Setting
from prime_cli.core.config.settings import (
    as_text,
    env_vars_of,
    environment_in,
    refuse_secret,
    unknown_setting,
)


def get(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SETTING", help="Its name.")],
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Print one setting.

    The value alone, for scripts; an empty line where there is none. `--output json` has the
    source too.

    \b
    Example:
      prime config get hub --context team

    See also: `prime config show`, `prime config set`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    refuse_secret(name)
    settings = {each.name: each for each in session.config.settings()}
    environment = environment_in(name)
    wanted = name.replace("-", "_").lower()
    if environment is not None:
        wanted = env_vars_of(environment).name
        settings.setdefault(wanted, Setting(wanted, None, DEFAULT))
    found = settings.get(wanted)
    if found is None:
        raise unknown_setting(name, list(settings))
    session.output.text(as_text(found.value) or "\n", record=found)
