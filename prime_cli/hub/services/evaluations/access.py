"""Which evaluations a caller may see and change. What is private does not exist for others."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, or_, select, update

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import environments, evaluated, evaluations, owners
from prime_cli.hub.services.access import PUBLIC, require_owner_slug

_ENVIRONMENT_OWNERS = owners.alias("environment_owners")


def select_evaluations() -> Select[Any]:
    """Rows of `evaluations` with `owner` (slug) and `owner_type`."""
    return select(
        evaluations, owners.c.slug.label("owner"), owners.c.type.label("owner_type")
    ).join(owners, evaluations.c.owner_id == owners.c.id)


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a caller sees an evaluation.

    A public one is seen by whoever sees all of its environments: names of evaluations, their
    metadata and samples say so much of an environment that to hide its name alone hides nothing.
    """
    return or_(
        owners.c.slug.in_(caller.reads),
        and_(evaluations.c.is_public, ~exists(_hidden_environments(caller))),
    )


def find_evaluation(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """The row of an evaluation; raises NotFound."""
    return _found(connection, _select_one(caller, evaluation_id), evaluation_id)


def find_writable(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """The same for somebody who may change it; raises NotFound, NotLoggedIn or NotAllowed."""
    row = find_evaluation(connection, caller, evaluation_id)
    require_owner_slug(caller, row.owner, evaluation_id)
    return row


def lock_evaluation(connection: Connection, caller: Caller, evaluation_id: str) -> Row[Any]:
    """As `find_writable`, and until the transaction ends nobody else changes that evaluation.

    So batches of one evaluation are taken one after the other, and those of several at once where
    the database can.
    """
    wanted = _select_one(caller, evaluation_id).with_for_update(of=evaluations)
    row = _found(connection, wanted, evaluation_id)
    require_owner_slug(caller, row.owner, evaluation_id)
    return row


def note_deletion(connection: Connection, environment: Row[Any]) -> None:
    """Before an environment goes: remember in its evaluations whether everybody saw it."""
    connection.execute(
        update(evaluated)
        .where(evaluated.c.environment_id == environment.id)
        .values(was_public=environment.visibility == PUBLIC)
    )


def _select_one(caller: Caller, evaluation_id: str) -> Select[Any]:
    return select_evaluations().where(evaluations.c.id == evaluation_id, visible_to(caller))


def _found(connection: Connection, wanted: Select[Any], evaluation_id: str) -> Row[Any]:
    row = connection.execute(wanted).one_or_none()
    if row is None:
        raise NotFound(f"Evaluation `{evaluation_id[:80]}` not found")
    return row


def _hidden_environments(caller: Caller) -> Select[Any]:
    """Environments of an evaluation that the caller does not see.

    Of one that was deleted, only what it was then is known.
    """
    # Written without NOT, which over the nulls of a deleted environment would be null as well.
    hidden = or_(
        and_(environments.c.id.is_(None), evaluated.c.was_public.is_(False)),
        and_(
            environments.c.visibility != PUBLIC,
            _ENVIRONMENT_OWNERS.c.slug.not_in(caller.reads),
        ),
    )
    return (
        select(evaluated.c.evaluation_id)
        .select_from(
            evaluated.outerjoin(
                environments, evaluated.c.environment_id == environments.c.id
            ).outerjoin(_ENVIRONMENT_OWNERS, environments.c.owner_id == _ENVIRONMENT_OWNERS.c.id)
        )
        .where(evaluated.c.evaluation_id == evaluations.c.id, hidden)
        .correlate(evaluations)
    )
