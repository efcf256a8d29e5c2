"""Garbage collection: sandboxes past their deadline, and resources without a row."""

from sqlalchemy import delete, or_, select

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import sandbox_tokens, sandboxes
from prime_cli.hub.sandboxes.supervisor.protocol import EndRequest
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.compute.providers import tag_prefix
from prime_cli.hub.services.sandboxes.lifecycle import end_row, read_refreshed
from prime_cli.hub.services.sandboxes.rows import (
    endable_by,
    holder_of,
    is_live,
    supervisor_of,
)
from prime_cli.wire.sandboxes import TIMED_OUT, TIMEOUT, SandboxesSwept

_KEPT_SECONDS = 30 * 24 * 3600.0


def sweep_sandboxes(hub: Hub, caller: Caller, *, dry_run: bool) -> SandboxesSwept:
    """End sandboxes past their deadline and remove resources without a row; `dry_run` lists both.

    Resources without a row have no owner, so only admins remove them. Raises NotAllowed.
    """
    require_user(caller)
    if not (dry_run or caller.writes or caller.admin):
        raise NotAllowed("This key may not end sandboxes", hint="use a key with the scope `write`")
    swept = SandboxesSwept()
    if hub.settings.sandboxes is None:
        return swept
    _end_late(hub, caller, swept, dry_run=dry_run)
    if caller.admin:
        _remove_strays(hub, swept, dry_run=dry_run)
    if not dry_run:
        with hub.database.write() as connection:
            connection.execute(
                delete(sandbox_tokens).where(sandbox_tokens.c.expires_at <= hub.now())
            )
    return swept


def _end_late(hub: Hub, caller: Caller, swept: SandboxesSwept, *, dry_run: bool) -> None:
    mine = endable_by(caller)
    everybody = or_(mine, sandboxes.c.holder == holder_of(hub)) if caller.admin else mine
    why = EndRequest(TIMEOUT, TIMED_OUT, "its time is over")
    for row in read_refreshed(hub, everybody, is_live()):
        if row.stop_at > hub.now():
            continue
        if not dry_run:
            try:
                end_row(hub, row, why)
            except PrimeError as error:
                swept.failed.append(f"{row.name}: {error.message}")
                continue
        swept.ended.append(row.id)


def _remove_strays(hub: Hub, swept: SandboxesSwept, *, dry_run: bool) -> None:
    """Remove what providers hold under this hub's tags without a live row."""
    supervisor, prefix = supervisor_of(hub), tag_prefix(hub)
    kept = supervisor.kept_tags(prefix)
    if not (supervisor.paths.folder.exists() or kept):
        return
    here = sandboxes.c.holder == holder_of(hub)
    with hub.database.read() as connection:
        used = set(connection.execute(select(sandboxes.c.provider).where(here)).scalars())
    if hub.settings.sandboxes is not None:
        used |= set(hub.settings.sandboxes.providers)
    # Before the rows: a sandbox created meanwhile has one.
    held = supervisor.list_orphans(prefix, sorted(used))
    swept.failed += [f"{name}: {why}" for name, why in held.failures.items()]
    with hub.database.read() as connection:
        live = set(connection.execute(select(sandboxes.c.tag).where(here, is_live())).scalars())
        recent = sandboxes.c.terminated_at > hub.after(-_KEPT_SECONDS)
        known = set(connection.execute(select(sandboxes.c.tag).where(here, recent)).scalars())
    for provider, tags in held.tags.items():
        for tag in sorted(set(tags) - live):
            if not dry_run:
                try:
                    supervisor.remove(provider, tag)
                except PrimeError as error:
                    swept.failed.append(f"{tag}: {error.message}")
                    continue
            swept.removed.append(tag)
    for tag in kept:
        if tag not in live and tag not in known and not dry_run:
            supervisor.forget(tag)
