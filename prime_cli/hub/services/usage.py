"""What owners spent on models: tokens and cost by month, and the monthly budget of tokens."""

import re
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from prime_cli.core.errors import NotAllowed, NotFound, RateLimited, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import model_usage, owners
from prime_cli.hub.services.access import (
    find_own_team,
    find_owner,
    require_own,
    require_user,
)
from prime_cli.hub.services.quotas import limit_of, used_by
from prime_cli.models.prices import PICO, Spend
from prime_cli.wire.inference import ModelUsage

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def find_payer(hub: Hub, caller: Caller, team_id: str | None) -> str:
    """The slug of the owner whom calls are charged to: the caller, or a team that is named.

    Raises NotLoggedIn, NotFound, and NotAllowed for a key that may not spend: one with the scope
    `read`, or one limited to a team that is not named.
    """
    require_user(caller)
    slug = caller.slug
    if team_id is None:
        require_own(caller, f"models at the expense of `{slug}`")
    else:
        with hub.database.read() as connection:
            slug = find_own_team(connection, caller, team_id).slug
    if slug not in caller.writes:
        raise NotAllowed(
            "This key is read-only, and calls to models are charged",
            hint="use a key with the scope `write`",
        )
    return slug


def require_budget(hub: Hub, payer: str) -> None:
    """Raise RateLimited if the owner has used the tokens of this month."""
    with hub.database.read() as connection:
        owner_id = _owner_id(connection, payer)
        most = limit_of(hub, connection, owner_id, "tokens")
        if most is None:
            return
        used = used_by(hub, connection, owner_id, "tokens")
    if used >= most:
        raise RateLimited(
            f"`{payer}` has used {used:,} tokens this month, and this hub allows {most:,}",
            hint="wait for the next month, or ask the hub's admin for more",
        )


def add_usage(hub: Hub, payer: str, model: str, spend: Spend) -> None:
    """Count calls to a model; an owner that was deleted meanwhile is not charged."""
    usage = spend.usage
    added: dict[str, Any] = {
        "calls": usage.calls,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cost_usd": spend.picodollars / PICO,
        "unpriced_calls": spend.unpriced,
    }
    with hub.database.write() as connection:
        owner = find_owner(connection, payer)
        if owner is None:
            return
        mine = {"owner_id": owner.id, "month": _month(hub), "model": model}
        where = [model_usage.c[name] == value for name, value in mine.items()]
        more = {name: model_usage.c[name] + value for name, value in added.items()}
        if not connection.execute(update(model_usage).where(*where).values(**more)).rowcount:
            connection.execute(insert(model_usage).values(**mine, **added))


def list_usage(hub: Hub, month: str | None = None, owner: str | None = None) -> list[ModelUsage]:
    """By owner and model, of one month (default: this one).

    Raises UsageError for another text, and NotFound for no owner.
    """
    if month is not None and _MONTH.fullmatch(month) is None:
        raise UsageError(f"`{month[:80]}` is not a month", hint="write it like `2026-11`")
    query = (
        select(model_usage, owners.c.slug)
        .join(owners, model_usage.c.owner_id == owners.c.id)
        .where(model_usage.c.month == (month or _month(hub)))
        .order_by(owners.c.slug, model_usage.c.model)
    )
    if owner is not None:
        query = query.where(owners.c.slug == owner)
    with hub.database.read() as connection:
        if owner is not None:
            _owner_id(connection, owner)
        return [_shown(row) for row in connection.execute(query)]


def _shown(row: Row[Any]) -> ModelUsage:
    return ModelUsage(
        row.slug,
        row.month,
        row.model,
        row.calls,
        row.input_tokens,
        row.output_tokens,
        row.cost_usd,
        row.unpriced_calls,
    )


def _owner_id(connection: Connection, slug: str) -> str:
    owner = find_owner(connection, slug)
    if owner is None:
        raise NotFound(
            f"No user or team `{slug[:80]}` on this hub",
            hint="list them with `prime hub user list` and `prime hub team list`",
        )
    return str(owner.id)


def _month(hub: Hub) -> str:
    """As `2026-11`; the tables' times begin so."""
    return hub.now()[:7]
