"""Yanking: a version stays for those who name it, and is passed over by all others (PEP 592)."""

from sqlalchemy import update

from prime_cli.core.errors import UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import versions
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.index import refresh_index
from prime_cli.hub.services.versions import find_version, update_latest
from prime_cli.wire.environments import YankReply

LONGEST_REASON = 1000


def yank_version(hub: Hub, caller: Caller, ref: EnvRef, reason: str) -> YankReply:
    """Mark a version, or give another reason; raises NotFound, NotAllowed, UsageError.

    `latest` names the newest version that is not yanked, if there is any.
    """
    if len(reason) > LONGEST_REASON:
        raise UsageError(f"The reason has more than {LONGEST_REASON} characters")
    return _set(hub, caller, ref, reason, "version.yank")


def unyank_version(hub: Hub, caller: Caller, ref: EnvRef) -> YankReply:
    """Take the mark off again; one that has none is no error."""
    return _set(hub, caller, ref, None, "version.unyank")


def _set(hub: Hub, caller: Caller, ref: EnvRef, reason: str | None, action: str) -> YankReply:
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        connection.execute(
            update(versions).where(versions.c.id == version.id).values(yanked=reason)
        )
        update_latest(hub, connection, environment.id)
        target = f"{ref.slug}@{version.semantic_version}"
        record(hub, connection, caller, action, target, reason=reason)
    refresh_index(hub)
    return YankReply(version.semantic_version, reason)
