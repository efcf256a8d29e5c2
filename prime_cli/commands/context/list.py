"""`prime context list`."""

import typer

from prime_cli.commands.context.places import (
    kept_keys,
    name_of_current,
    record_of,
    settings_of_file,
)
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.config.contexts import read_contexts


def list_(ctx: typer.Context, output: OutputOpt = None, quiet: QuietOpt = False) -> None:
    """List the hubs that are known here.

    `*` is the one that commands use now. Keys are never shown, only where they are kept.

    \b
    Example:
      prime context list
    \b
    See also: `prime context use`, `prime login`, `prime config show`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    kept, current = kept_keys(config), name_of_current(session)
    records = [record_of(each, kept, current) for each in read_contexts(config.file)]
    session.output.table(
        ["", "Context", "Hub", "Team", "Key"],
        [
            [
                "*" if each["current"] else "",
                each["name"],
                each["base_url"] or "in this process",
                each["team"] or "",
                each["key"] or "",
            ]
            for each in records
        ],
        records=records,
        page={"contexts": records, "current": current},
    )
