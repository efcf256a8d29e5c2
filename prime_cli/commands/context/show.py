"""`prime context show`."""

from typing import Annotated

import typer

from prime_cli.commands.context.places import (
    kept_keys,
    name_of_current,
    record_of,
    settings_of_file,
)
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.config.contexts import find_context


def show(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CONTEXT]", help="The context.", show_default="the current one"),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Show a context.

    That is its addresses, its team, and where its key is kept; never the key.

    \b
    Example:
      prime context show team
    \b
    See also: `prime context list`, `prime whoami`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    found = find_context(name, config.file) if name else session.config.context
    record = record_of(found, kept_keys(config), name_of_current(session))
    session.output.show(
        record,
        lines=[
            ("context", f"{found.name}{' (current)' if record['current'] else ''}"),
            ("hub", found.base_url or "in this process"),
            ("web", found.web_url or "-"),
            ("team", found.team or "-"),
            ("key", record["key"] or ("no key needed" if found.embedded else "none is kept")),
        ],
    )
