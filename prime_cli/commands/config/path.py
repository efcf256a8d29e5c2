"""`prime config path`."""

import typer

from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.credentials.store import credentials_file


def path(ctx: typer.Context, output: OutputOpt = None, quiet: QuietOpt = False) -> None:
    """Print where config.toml is.

    It need not be there yet. JSON names the file of keys and prime's home as well.

    \b
    Example:
      $EDITOR "$(prime config path)"

    See also: `prime config show`, `prime config set`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    home = config.home.value
    record = {"config": config.file, "credentials": credentials_file(home), "home": home}
    session.output.text(str(config.file), record=record)
