"""Look after a hub: `prime hub audit`, `migrate`, `gc`, `backup` and `restore`."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.hub.options import HubData, HubStore
from prime_cli.commands.options import CONTEXT, DryRunOpt, ForceOpt, local_options, open_session
from prime_cli.core.errors import Conflict
from prime_cli.core.formatting import pluralize
from prime_cli.wire.accounts import AuditEntry, AuditQuery

_HUB = "prime_cli.hub.maintenance"
_COLUMNS = ("Time", "Who", "What", "On", "Key", "From", "More")


@local_options(CONTEXT, answer=list[AuditEntry])
def audit(
    ctx: typer.Context,
    *,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Only actions of this user.")
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(
            "--action",
            metavar="WHAT",
            help="Only actions that start with this, such as `version.`.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="ID", help="Only this key and the keys created with it."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--on", metavar="WHAT", help="Only objects that start with this, such as `ada/`."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100_000, help="Maximum number of entries.")
    ] = 100,
    place: HubData,
) -> None:
    """Show the audit log of a hub, newest first.

    Records publishing, deletions, changes of visibility, keys, users, teams and logins, with the
    user, key and address; `cli` stands for a command on the hub's machine.

    \b
    Example:
      prime hub audit --action version.publish --on ada/
      prime hub audit --key key_0f1e2d3c4b5a6978
    \b
    See also: `prime hub token list`.
    """
    session = open_session(ctx)
    query = AuditQuery(user, action, key, target, limit)
    found = place.administration(session).list_audit(query).entries
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


class MigratedHub(msgspec.Struct, frozen=True):
    """The database, and the number of its schema."""

    database: str
    schema: int


@local_options(answer=MigratedHub, effects=(NETWORK, WRITES))
def migrate(
    ctx: typer.Context,
    place: HubData,
) -> None:
    """Migrate a hub's database to this release's schema.

    `prime hub serve` also does this when it starts; if several start at once, one does. Run it
    separately to test the migration before a restart.

    \b
    Example:
      prime hub migrate --database postgresql://hub@db/hub
    \b
    See also: `prime hub backup`, `prime hub serve`.
    """
    session = open_session(ctx)
    with session.progress.task("Migrating"):
        hub = place.open(new=True)

    from prime_cli.hub.db.tables import SCHEMA

    record = MigratedHub(hub.database.name, SCHEMA)
    session.output.done(f"{hub.database.name} has schema {SCHEMA}", value=record)


@local_options(answer=f"{_HUB}.garbage:Garbage", effects=(NETWORK, WRITES))
def gc(
    ctx: typer.Context,
    place: HubStore,
    dry_run: DryRunOpt = False,
) -> None:
    """Delete unreferenced blobs and abandoned uploads.

    Deletes blobs that no version refers to, and unfinished uploads and logins. Safe while the hub
    serves; blobs of the last hour are kept.

    \b
    Example:
      prime hub gc --dry-run
    \b
    See also: `prime hub backup`.
    """
    session = open_session(ctx)
    hub = place.open()

    from prime_cli.hub.maintenance.garbage import collect_garbage, find_garbage

    garbage = (find_garbage if dry_run else collect_garbage)(hub, session.progress)
    verb = "Would delete" if dry_run else "Deleted"
    session.output.done(f"{verb} {garbage.blobs} blobs with {garbage.bytes} bytes", value=garbage)


@local_options(answer=f"{_HUB}.backup:BackupManifest", effects=(NETWORK, WRITES))
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tar file to write.")],
    place: HubStore,
    force: ForceOpt = False,
) -> None:
    """Back up a hub to one file while it serves.

    The file contains private data, digests of keys and encrypted secrets: protect it like the hub
    itself.

    \b
    Example:
      prime hub backup /backups/hub.tar
    \b
    See also: `prime hub restore`.
    """
    session = open_session(ctx)
    if file.exists() and not force:
        raise Conflict(f"{file} already exists", hint="overwrite it with `--force`")
    hub = place.open()

    from prime_cli.hub.maintenance.backup import write_backup

    manifest = write_backup(hub, file, session.progress)
    versions = manifest.rows["versions"]
    session.output.done(
        f"Wrote {pluralize(versions, 'version')} and {pluralize(manifest.blobs, 'blob')} to {file}",
        value=manifest,
    )


@local_options(answer=f"{_HUB}.backup:BackupManifest", effects=(NETWORK, WRITES))
def restore(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file written by `prime hub backup`.")
    ],
    place: HubStore,
) -> None:
    """Restore a backup into an empty hub.

    The database and storage may be of another kind than in the hub that was backed up.

    \b
    Example:
      prime hub restore hub.tar --database postgresql://hub@db/hub
    \b
    See also: `prime hub backup`.
    """
    session = open_session(ctx)
    hub = place.open(new=True)

    from prime_cli.hub.maintenance.restore import read_backup

    manifest = read_backup(hub, file, session.progress)
    versions = manifest.rows["versions"]
    session.output.done(
        f"Restored {pluralize(versions, 'version')} and {pluralize(manifest.blobs, 'blob')} "
        f"into {hub.database.name}",
        value=manifest,
    )
