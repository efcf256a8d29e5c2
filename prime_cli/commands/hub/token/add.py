"""`prime hub token add`."""

from enum import StrEnum
from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.formatting import parse_duration


class Scope(StrEnum):
    """What a key may do; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


def add(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose key it is.")],
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "",
    scope: Annotated[
        Scope, typer.Option("--scope", help="Read, also publish, or also manage keys and teams.")
    ] = Scope.WRITE,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="OWNER",
            help="Good for this user or team alone.",
            show_default="the user and all teams",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="TIME",
            help="How long it is good, as 30d or 12h.",
            show_default="for ever",
        ),
    ] = None,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Make a key and print it.

    The key, and nothing else, goes to stdout. It is shown this once.

    \b
    Example:
      prime hub token add ada --name ci --scope read --expires 30d
    \b
    See also: `prime hub token list`, `prime whoami`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    seconds = None if expires is None else parse_duration(expires)
    hub = open_hub_data(data, database)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.key_management import issue_key

    made = issue_key(
        hub,
        Caller.operator(),
        user,
        name=name,
        scope=scope.value,
        owner=owner,
        seconds=seconds,
    )
    session.output.text(made.key, record=made)
