"""`prime hub audit`."""

from typing import Annotated, Any

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session

_COLUMNS = ("Time", "Who", "What", "On", "Key", "From", "More")


def audit(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="What this user did.")
    ] = None,
    action: Annotated[
        str | None,
        typer.Option("--action", metavar="WHAT", help="Actions that begin so, as `version.`."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="ID", help="Only this key and the keys made with it."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--on", metavar="WHAT", help="What was done to things that begin so."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")
    ] = 100,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Show what was done on a hub, the newest first.

    Publishing, deleting, changes of visibility, keys, users, teams and logins are noted with who
    did it, with which key and from where; `cli` is a command on the machine of the hub.

    \b
    Example:
      prime hub audit --action version.publish --on ada/
      prime hub audit --key key_0f1e2d3c4b5a6978
    \b
    See also: `prime hub token list`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    hub = open_hub_data(data, database)

    from prime_cli.hub.services.audit import list_entries

    found = list_entries(hub, actor=user, action=action, key=key, target=target, limit=limit)
    rows = [
        [
            entry.at,
            entry.actor,
            entry.action,
            entry.target,
            entry.key_id or "",
            entry.address or "",
            " ".join(f"{name}={_shown(value)}" for name, value in entry.detail.items() if value),
        ]
        for entry in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
