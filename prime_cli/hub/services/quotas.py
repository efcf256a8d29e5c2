"""Quotas of users and teams: storage, pods, sandboxes and tokens.

Set by admins, and required in the transaction that uses them, so that requests at once cannot
exceed them together.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select

from prime_cli.core.errors import NotAllowed, NotFound, RateLimited, UsageError
from prime_cli.core.formatting import format_bytes, pluralize
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.engine import read_page
from prime_cli.hub.db.tables import (
    artifacts,
    environments,
    model_usage,
    owners,
    pods,
    quotas,
    sandboxes,
)
from prime_cli.hub.services.access import UPSTREAM, find_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.users import require_accounts, require_admin
from prime_cli.wire.queries import PageQuery
from prime_cli.wire.quotas import QUOTA_KINDS, UNLIMITED, Amounts, NewQuota, Quota, QuotaList

EVERYBODY = "*"
_KINDS = " or ".join(QUOTA_KINDS).replace(" or ", ", ", len(QUOTA_KINDS) - 2)
_MOST = 2**62

# --- Required by what uses them ---


def limit_of(hub: Hub, connection: Connection, owner_id: str, kind: str) -> int | None:
    """The most of a kind that an owner may have; None for no limit."""
    wanted = quotas.c.subject.in_([owner_id, EVERYBODY])
    rows = connection.execute(select(quotas).where(wanted)).mappings()
    found = {row["subject"]: row[kind] for row in rows}
    return _effective(hub, kind, found.get(owner_id), found.get(EVERYBODY))


def used_by(hub: Hub, connection: Connection, owner_id: str, kind: str) -> int:
    """How much of a kind an owner has."""
    by_owner = _select_used(hub, kind).subquery()
    amount = select(by_owner.c.amount).where(by_owner.c.owner_id == owner_id)
    return int(connection.execute(amount).scalar() or 0)


def require_storage(hub: Hub, connection: Connection, environment: Row[Any], more: int) -> None:
    """Raise NotAllowed if the owner of an environment may not publish `more` bytes.

    What is mirrored has no quota.
    """
    limit = limit_of(hub, connection, environment.owner_id, "storage")
    if limit is None or environment.owner_type == UPSTREAM:
        return
    used = used_by(hub, connection, environment.owner_id, "storage")
    if used + more > limit:
        raise NotAllowed(
            f"`{environment.owner}` uses {format_bytes(used)} of {format_bytes(limit)} on this "
            f"hub, and this needs {format_bytes(more)} more",
            hint="delete old versions with `prime env delete`, or ask the hub's admins for more",
        )


def require_pod(hub: Hub, connection: Connection, owner_id: str) -> None:
    """Raise NotAllowed if a user or team may have no other pod."""
    limit = limit_of(hub, connection, owner_id, "pods")
    if limit is None:
        return
    used = used_by(hub, connection, owner_id, "pods")
    if used >= limit:
        slug = connection.execute(select(owners.c.slug).where(owners.c.id == owner_id)).scalar()
        raise NotAllowed(
            f"`{slug}` has {pluralize(used, 'pod')}, and this hub allows {limit}",
            hint="terminate one with `prime pods terminate`, or ask the hub's admins for more",
        )


def require_sandbox(hub: Hub, connection: Connection, owner_id: str) -> None:
    """Raise RateLimited if a user or team may have no other sandbox now."""
    limit = limit_of(hub, connection, owner_id, "sandboxes")
    if limit is None:
        return
    used = used_by(hub, connection, owner_id, "sandboxes")
    if used >= limit:
        slug = connection.execute(select(owners.c.slug).where(owners.c.id == owner_id)).scalar()
        raise RateLimited(
            f"`{slug}` has {pluralize(used, 'sandbox', 'sandboxes')}, and this hub allows {limit}",
            hint="delete one with `prime sandbox delete`, or ask the hub's admins for more",
            retry_after=_SANDBOX_SECONDS,
        )


_SANDBOX_SECONDS = 10.0


# --- For everybody ---


def list_own_quotas(hub: Hub, caller: Caller) -> QuotaList:
    """What the owners for which the caller may read have, and may have, by name."""
    with hub.database.read() as connection:
        theirs = select(owners).where(owners.c.slug.in_(caller.reads)).order_by(owners.c.slug)
        return QuotaList(
            [_quota_of(hub, connection, row) for row in connection.execute(theirs).all()]
        )


def _quota_of(hub: Hub, connection: Connection, owner: Row[Any]) -> Quota:
    limits = {kind: limit_of(hub, connection, owner.id, kind) for kind in QUOTA_KINDS}
    used = {kind: used_by(hub, connection, owner.id, kind) for kind in QUOTA_KINDS}
    its = select(quotas).where(quotas.c.subject == owner.id)
    own = connection.execute(its).mappings().one_or_none()
    named = [kind for kind in QUOTA_KINDS if own is not None and own[kind] is not None]
    return Quota(owner.slug, Amounts(**limits), Amounts(**used), named)


# --- For admins ---


def set_quota(hub: Hub, caller: Caller, new: NewQuota) -> Quota:
    """Change what an owner, or everybody, may have; raises NotAllowed, NotFound, UsageError."""
    require_admin(caller)
    require_accounts(hub)
    given = {kind: getattr(new, kind) for kind in QUOTA_KINDS if getattr(new, kind) is not None}
    _check(new, given)
    changes: dict[str, int | None] = {**given, **dict.fromkeys(new.reset)}
    with hub.database.write() as connection:
        owner = _find(connection, new.owner)
        subject = EVERYBODY if owner is None else owner.id
        its = quotas.c.subject == subject
        kept = connection.execute(select(quotas).where(its)).mappings().one_or_none()
        values = {kind: kept[kind] if kept else None for kind in QUOTA_KINDS} | changes
        connection.execute(delete(quotas).where(its))
        owner_id = None if owner is None else owner.id
        connection.execute(insert(quotas).values(subject=subject, owner_id=owner_id, **values))
        record(hub, connection, caller, "quota.set", new.owner or EVERYBODY, **changes)
    return next(each for each in list_quotas(hub, caller).quotas if each.owner == new.owner)


def list_quotas(hub: Hub, caller: Caller) -> QuotaList:
    """What all may have, and every user and team with what they have; raises NotAllowed."""
    require_admin(caller)
    with hub.database.read() as connection:
        rows = connection.execute(_OWNERS.order_by(owners.c.slug)).all()
        return QuotaList([_of_all(hub, connection), *_described(hub, connection, rows)])


def list_quota_page(hub: Hub, caller: Caller, query: PageQuery) -> tuple[list[Quota], int]:
    """One page of the same, and the number of all; raises NotAllowed."""
    require_admin(caller)
    is_first = query.offset == 0
    rest = PageQuery(query.limit - is_first, max(query.offset - 1, 0))
    with hub.database.read() as connection:
        rows, total = read_page(connection, _OWNERS, owners.c.slug, rest)
        first = [_of_all(hub, connection)] if is_first else []
        found = _described(hub, connection, rows, [row.id for row in rows])
        return [*first, *found], total + 1


_OWNERS = select(owners).where(owners.c.type != UPSTREAM)
_Quotas = Mapping[str, Mapping[str, Any]]
"""The rows of quotas by subject."""


def _of_all(hub: Hub, connection: Connection) -> Quota:
    used = {}
    for kind in QUOTA_KINDS:
        amounts = _select_used(hub, kind).subquery()
        total = connection.execute(select(func.sum(amounts.c.amount))).scalar()
        used[kind] = int(total or 0)
    return _quota(hub, None, _read_quotas(connection, [EVERYBODY]).get(EVERYBODY, {}), {}, used)


def _described(
    hub: Hub,
    connection: Connection,
    rows: Sequence[Row[Any]],
    ids: Sequence[str] | None = None,
) -> list[Quota]:
    """The quotas of owners; `ids` are theirs, if they are not all."""
    known = _read_quotas(connection, ids and [EVERYBODY, *ids])
    amounts = {kind: _read_used(hub, connection, kind, ids) for kind in QUOTA_KINDS}
    for_all = known.get(EVERYBODY, {})
    return [
        _quota(
            hub,
            row.slug,
            for_all,
            known.get(row.id, {}),
            {kind: amounts[kind].get(row.id, 0) for kind in QUOTA_KINDS},
        )
        for row in rows
    ]


def _read_quotas(connection: Connection, subjects: Sequence[str] | None) -> _Quotas:
    wanted = select(quotas)
    if subjects is not None:
        wanted = wanted.where(quotas.c.subject.in_(subjects))
    return {row["subject"]: dict(row) for row in connection.execute(wanted).mappings()}


def _read_used(
    hub: Hub, connection: Connection, kind: str, ids: Sequence[str] | None
) -> dict[str, int]:
    by_owner = _select_used(hub, kind).subquery()
    wanted = select(by_owner)
    if ids is not None:
        wanted = wanted.where(by_owner.c.owner_id.in_(ids))
    return {row.owner_id: int(row.amount or 0) for row in connection.execute(wanted)}


def _quota(
    hub: Hub,
    slug: str | None,
    for_all: Mapping[str, Any],
    own: Mapping[str, Any],
    used: Mapping[str, int],
) -> Quota:
    limits = {kind: _effective(hub, kind, own.get(kind), for_all.get(kind)) for kind in QUOTA_KINDS}
    stated = own if slug else for_all
    named = [kind for kind in QUOTA_KINDS if stated.get(kind) is not None]
    return Quota(slug, Amounts(**limits), Amounts(**used), named)


def _check(new: NewQuota, given: dict[str, int]) -> None:
    if wrong := set(new.reset) - set(QUOTA_KINDS):
        raise UsageError(f"`{min(wrong)[:80]}` is not a quota", hint=f"write {_KINDS}")
    if not given and not new.reset:
        raise UsageError("No quota is given", hint=f"name {_KINDS}")
    if any(not UNLIMITED <= number <= _MOST for number in given.values()):
        raise UsageError("A quota is a number from 0, or -1 for no limit")


def _find(connection: Connection, slug: str | None) -> Row[Any] | None:
    if slug is None:
        return None
    owner = find_owner(connection, slug)
    if owner is None or owner.type == UPSTREAM:
        raise NotFound(
            f"No user or team `{slug[:80]}` on this hub", hint="see `prime hub quota list`"
        )
    return owner


def _effective(hub: Hub, kind: str, own: int | None, for_all: int | None) -> int | None:
    limit = for_all if own is None else own
    if limit is None and kind == "tokens":
        limit = hub.settings.tokens_per_month or None
    return None if limit == UNLIMITED else limit


def _select_used(hub: Hub, kind: str) -> Select[Any, Any]:
    """The `amount` by `owner_id` that owners have of a kind."""
    if kind == "storage":
        return (
            select(environments.c.owner_id, func.sum(artifacts.c.size).label("amount"))
            .join(artifacts, artifacts.c.environment_id == environments.c.id)
            .where(artifacts.c.published)
            .group_by(environments.c.owner_id)
        )
    if kind == "sandboxes":
        whose = func.coalesce(sandboxes.c.team_id, sandboxes.c.user_id)
        return (
            select(whose.label("owner_id"), func.count(sandboxes.c.id).label("amount"))
            .where(sandboxes.c.terminated_at.is_(None))
            .group_by(whose)
        )
    if kind == "pods":
        holder, amount = func.coalesce(pods.c.team_id, pods.c.user_id), func.count(pods.c.id)
        return (
            select(holder.label("owner_id"), amount.label("amount"))
            .where(pods.c.terminated_at.is_(None))
            .group_by(holder)
        )
    tokens = func.sum(model_usage.c.input_tokens + model_usage.c.output_tokens)
    return (
        select(model_usage.c.owner_id, tokens.label("amount"))
        .where(model_usage.c.month == hub.now()[:7])
        .group_by(model_usage.c.owner_id)
    )
