"""Sandboxes as their users see and end them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, func, insert, select

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners, sandbox_labels, sandbox_tokens, sandboxes
from prime_cli.hub.sandboxes.supervisor.protocol import EndRequest, ObservedState
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.sandboxes.rows import (
    describe,
    endable_by,
    find_endable,
    find_sandbox,
    follow,
    is_live,
    refresh,
    require_here,
    supervisor_of,
    visible_to,
)
from prime_cli.hub.tokens import new_token, token_digest
from prime_cli.hub.urls import SANDBOX_GATEWAY
from prime_cli.wire.sandboxes import (
    MOST_AT_ONCE,
    MOST_LABELS,
    MOST_LOOKUPS,
    TERMINATED,
    ErrorContext,
    NotDeleted,
    NotLookedUp,
    Sandbox,
    SandboxAuth,
    SandboxDeleted,
    SandboxDeletion,
    SandboxesDeleted,
    SandboxLogs,
    SandboxPage,
    SandboxQuery,
    SandboxState,
    SandboxStates,
)

TOKEN_SECONDS = 3600.0


def list_sandboxes(hub: Hub, caller: Caller, query: SandboxQuery) -> SandboxPage:
    """One page of the caller's sandboxes, newest first, after refreshing those that exist."""
    require_user(caller)
    read_refreshed(hub, visible_to(caller), is_live())
    wanted = [visible_to(caller), *_filters(query)]
    first = (query.page - 1) * query.per_page
    newest = (sandboxes.c.created_at.desc(), sandboxes.c.id)
    page = select(sandboxes).where(*wanted).order_by(*newest).offset(first).limit(query.per_page)
    with hub.database.read() as connection:
        count = select(func.count()).select_from(sandboxes).where(*wanted)
        total = connection.execute(count).scalar_one()
        rows = connection.execute(page).all()
    return SandboxPage(
        [describe(row) for row in rows],
        total,
        query.page,
        query.per_page,
        first + len(rows) < total,
    )


def _filters(query: SandboxQuery) -> list[ColumnElement[bool]]:
    found = [_has_label(label) for label in query.labels]
    if query.status:
        found.append(sandboxes.c.status == query.status.upper())
    if query.is_active:
        found.append(is_live())
    if query.team_id:
        found.append(sandboxes.c.team_id == _owner(query.team_id))
    if query.user_id:
        found.append(sandboxes.c.user_id == _owner(query.user_id))
    return found


def _has_label(label: str) -> ColumnElement[bool]:
    having = select(sandbox_labels.c.sandbox_id).where(sandbox_labels.c.label == label)
    return sandboxes.c.id.in_(having)


def _owner(name: str) -> ColumnElement[Any]:
    named = (owners.c.id == name) | (owners.c.slug == name)
    return select(owners.c.id).where(named).scalar_subquery()


def get_sandbox(hub: Hub, caller: Caller, sandbox_id: str) -> Sandbox:
    """One sandbox, even an ended one; raises NotFound."""
    return describe(find_refreshed(hub, caller, sandbox_id))


def read_logs(hub: Hub, caller: Caller, sandbox_id: str) -> SandboxLogs:
    """The output of its start command; raises NotFound."""
    row = find_refreshed(hub, caller, sandbox_id)
    require_here(hub, row)
    try:
        return SandboxLogs(supervisor_of(hub).log(row.tag))
    except NotFound:
        return SandboxLogs("")


def explain_error(hub: Hub, caller: Caller, sandbox_id: str) -> ErrorContext:
    """Its status, and why it does not run; raises NotFound."""
    row = find_refreshed(hub, caller, sandbox_id)
    return ErrorContext(row.status, row.error_type, row.error_message)


def list_states(hub: Hub, caller: Caller, ids: Sequence[str]) -> SandboxStates:
    """The states of sandboxes, in the order of `ids`; raises UsageError for too many."""
    require_user(caller)
    _require_few(len(ids), MOST_LOOKUPS, "sandbox_ids")
    rows = {row.id: row for row in read_refreshed(hub, visible_to(caller), sandboxes.c.id.in_(ids))}
    wanted = list(dict.fromkeys(ids))
    return SandboxStates(
        [
            SandboxState(row.id, row.status, row.error_type, row.error_message)
            for each in wanted
            if (row := rows.get(each))
        ],
        [
            NotLookedUp(each[:80], "NOT_FOUND", "Sandbox not found")
            for each in wanted
            if each not in rows
        ],
    )


# --- Tokens ---


def open_gateway(hub: Hub, caller: Caller, sandbox_id: str, base: str) -> SandboxAuth:
    """A token that opens one sandbox for an hour; raises NotFound or NotAllowed.

    `base` is the address under which the caller reaches this hub.
    """
    require_user(caller)
    token, expires_at = new_token(), hub.after(TOKEN_SECONDS)
    with hub.database.write() as connection:
        row = find_endable(connection, caller, sandbox_id)
        # Also for a sandbox that has ended: its gateway then says so, as clients expect.
        values = {"digest": token_digest(token), "sandbox_id": row.id}
        connection.execute(insert(sandbox_tokens).values(**values, expires_at=expires_at))
    return SandboxAuth(
        token=token,
        gateway_url=base + SANDBOX_GATEWAY,
        user_ns="prime",
        job_id=row.id,
        expires_at=expires_at,
        sandbox_id=row.id,
        is_vm=describe(row).vm,
    )


# Made once: every command asks for it.
_ENTERED = (
    select(sandboxes, owners.c.slug.label("user"))
    .join(sandbox_tokens)
    .join(owners, owners.c.id == sandboxes.c.user_id)
    .where(
        sandbox_tokens.c.digest == bindparam("of_token"),
        sandbox_tokens.c.sandbox_id == bindparam("entered"),
        sandbox_tokens.c.expires_at > bindparam("at"),
        owners.c.suspended.is_(None),
    )
)


def find_entered(hub: Hub, sandbox_id: str, token: str) -> Row[Any] | None:
    """The row of the sandbox that a token opens now, with the slug of its `user`.

    None if it opens none, or not this one, and while the user is suspended.
    """
    given = {"of_token": token_digest(token), "entered": sandbox_id, "at": hub.now()}
    with hub.database.read() as connection:
        return connection.execute(_ENTERED, given).one_or_none()


# --- Ending ---


def delete_sandbox(hub: Hub, caller: Caller, sandbox_id: str) -> SandboxDeleted:
    """End a sandbox; one that has ended stays so. Raises NotFound or NotAllowed."""
    end_row(hub, require_endable(hub, caller, sandbox_id))
    return SandboxDeleted()


def require_endable(hub: Hub, caller: Caller, sandbox_id: str) -> Row[Any]:
    """The row of a sandbox that the caller may end and enter; raises NotFound or NotAllowed."""
    require_user(caller)
    with hub.database.read() as connection:
        return find_endable(connection, caller, sandbox_id)


def delete_sandboxes(hub: Hub, caller: Caller, deletion: SandboxDeletion) -> SandboxesDeleted:
    """End sandboxes by their ids, or all of a user, a team or with labels; raises UsageError.

    Never one that the caller may not end.
    """
    require_user(caller)
    wanted = list(dict.fromkeys(deletion.sandbox_ids or ()))
    _require_few(len(wanted), MOST_AT_ONCE, "sandbox_ids")
    _require_few(len(deletion.labels or ()), MOST_LABELS, "labels")
    # No ids are not all: a list of what to delete may be empty.
    is_of_owner = deletion.user_id or deletion.team_id or deletion.all_users
    if not wanted and not deletion.labels and (deletion.sandbox_ids is not None or not is_of_owner):
        raise UsageError("Name `sandbox_ids`, `labels`, `user_id`, `team_id` or `all_users`")
    chosen: list[ColumnElement[bool]] = [endable_by(caller)]
    if wanted:
        chosen.append(sandboxes.c.id.in_(wanted))
    else:
        chosen += [is_live(), *map(_has_label, deletion.labels or ())]
    if deletion.team_id:
        chosen.append(sandboxes.c.team_id == _owner(deletion.team_id))
    if deletion.user_id and not deletion.all_users:
        chosen.append(sandboxes.c.user_id == _owner(deletion.user_id))
    with hub.database.read() as connection:
        rows = {row.id: row for row in connection.execute(select(sandboxes).where(*chosen))}
    failed = [NotDeleted(each[:80], "Sandbox not found") for each in wanted if each not in rows]
    done: list[str] = []
    for row in rows.values():
        try:
            end_row(hub, row)
        except PrimeError as error:
            failed.append(NotDeleted(row.id, error.message))
        else:
            done.append(row.id)
    return SandboxesDeleted(done, failed, f"{pluralize(len(done), 'sandbox', 'sandboxes')} deleted")


def end_row(hub: Hub, row: Row[Any], why: EndRequest | None = None) -> None:
    """End the sandbox of a row, and close the row; raises what the supervisor raises."""
    if row.terminated_at is not None:
        return
    require_here(hub, row)
    why = why or EndRequest(TERMINATED)
    try:
        state = supervisor_of(hub).end(row.tag, why)
    except NotFound:
        state = None
    gone = ObservedState(why.status, why.error_type, why.error_message)
    follow(hub, row, state or gone)


def find_refreshed(hub: Hub, caller: Caller, sandbox_id: str) -> Row[Any]:
    """The row of a sandbox as it is now, even of an ended one; raises NotFound."""
    require_user(caller)
    rows = read_refreshed(hub, visible_to(caller), sandboxes.c.id == sandbox_id)
    if not rows:
        with hub.database.read() as connection:
            return find_sandbox(connection, sandbox_id, visible_to(caller))
    return rows[0]


def read_refreshed(hub: Hub, *wanted: ColumnElement[bool]) -> Sequence[Row[Any]]:
    """The rows that meet the conditions, updated from the supervisor first."""
    query = select(sandboxes).where(*wanted)
    with hub.database.read() as connection:
        rows = connection.execute(query).all()
    if refresh(hub, rows):
        with hub.database.read() as connection:
            rows = connection.execute(query).all()
    return rows


def _require_few(count: int, most: int, field: str) -> None:
    if count > most:
        raise UsageError(f"`{field}` may have at most {most}", param=field)
