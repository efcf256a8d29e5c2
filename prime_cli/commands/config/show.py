"""`prime config show`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, open_session
from prime_cli.core.config import Setting


def show(
    ctx: typer.Context,
    output: OutputOpt = None,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show every setting and its source.

    A flag wins over a variable, a variable over config.toml, and that over the default.
    A key is never shown.

    \b
    Example:
      prime config show --output json

    See also: `prime whoami`.
    """
    session = open_session(ctx, output=output, context=context, offline=offline)
    credential = session.credential
    key = Setting("key", "set" if credential.key else None, credential.source)
    settings = [*session.config.settings(), key]
    session.output.table(
        ["Setting", "Value", "Source"],
        [[each.name, _text(each.value), each.source] for each in settings],
        records=settings,
        page={each.name: {"value": each.value, "source": each.source} for each in settings},
    )


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case _:
            return str(value)
