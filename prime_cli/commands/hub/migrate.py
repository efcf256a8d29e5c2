"""`prime hub migrate`."""

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session


def migrate(
    ctx: typer.Context,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Bring a hub's database to the schema of this release.

    `prime hub serve` does so itself when it starts; of several that start at once, one does. Run
    it alone to see that it works before the hub is started anew.

    \b
    Example:
      prime hub migrate --database postgresql://hub@db/hub
    \b
    See also: `prime hub backup`, `prime hub serve`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    with session.progress.task("Migrating"):
        hub = open_hub_data(data, database, new=True)

    from prime_cli.hub.db.tables import SCHEMA

    record = {"database": hub.database.name, "schema": SCHEMA}
    session.output.done(f"{hub.database.name} has schema {SCHEMA}", value=record)
