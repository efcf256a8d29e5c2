"""`prime config show`."""

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.config import Setting
from prime_cli.core.config.settings import as_text


def show(
    ctx: typer.Context,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Show every setting and its source.

    A flag wins over a variable, a variable over config.toml, and that over the default.
    A key is never shown.

    \b
    Example:
      prime config show --output json

    See also: `prime config set`, `prime context list`, `prime whoami`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    credential = session.credential
    if credential.trouble:
        session.output.warn(credential.trouble)
    key = Setting("key", "set" if credential.key else None, credential.source)
    settings = [*session.config.settings(), key]
    session.output.table(
        ["Setting", "Value", "Source"],
        [[each.name, as_text(each.value) or "-", _source(each)] for each in settings],
        records=settings,
        page={
            each.name: {"value": each.value, "source": each.source, "shadows": each.shadows}
            for each in settings
        },
    )


def _source(setting: Setting[object]) -> str:
    if setting.shadows is None:
        return setting.source
    return f"{setting.source}, not `{setting.shadows}` of config.toml"
