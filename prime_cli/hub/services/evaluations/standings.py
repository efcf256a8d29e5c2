"""What lists of environments show of evaluations: how many there are, and the best of each.

Both are copied to where lists read them, so that a page costs the same however many evaluations its
environments have. Whoever changes the status, the mean, the publicity or the environments of an
evaluation calls `update_standing` in the same transaction.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, case, exists, not_, or_, select, update

from prime_cli.hub.db.tables import environments, evaluated, evaluations
from prime_cli.hub.services.access import PUBLIC
from prime_cli.wire.evaluations import COMPLETED

EVERYBODY = ""
"""The audience of an evaluation that is public, as are all other environments that it is of."""

_OTHER = evaluated.alias("other")


def update_standing(connection: Connection, evaluation_id: str) -> None:
    """Copy one evaluation, as it is now, to where lists read it."""
    before = _counted(connection, evaluation_id)
    of = evaluations.c.id == evaluated.c.evaluation_id, evaluations.c.status == COMPLETED
    audience = case(
        (and_(evaluations.c.is_public, not_(_is_beside_hidden())), EVERYBODY),
        else_=evaluations.c.owner_id,
    )
    connection.execute(
        update(evaluated)
        .where(evaluated.c.evaluation_id == evaluation_id)
        .values(
            audience=select(audience).where(*of).scalar_subquery(),
            mean_reward=select(evaluations.c.average_reward).where(*of).scalar_subquery(),
        )
    )
    _count(connection, before, _counted(connection, evaluation_id))


def forget_standing(connection: Connection, evaluation_id: str) -> None:
    """Take an evaluation that is about to be deleted from the counts."""
    _count(connection, _counted(connection, evaluation_id), set())


def update_shared_standings(connection: Connection, environment_id: str) -> None:
    """The same for all that are also of other environments, when this one's visibility changed."""
    shared = select(evaluated.c.evaluation_id).where(
        evaluated.c.environment_id == environment_id,
        exists().where(
            _OTHER.c.evaluation_id == evaluated.c.evaluation_id,
            _OTHER.c.position != evaluated.c.position,
        ),
    )
    for evaluation_id in sorted(set(connection.execute(shared).scalars())):
        update_standing(connection, evaluation_id)


def best_evaluations(
    connection: Connection, ids: Sequence[str], audiences: Sequence[str]
) -> dict[str, list[str]]:
    """By environment, the evaluation with the highest mean that each audience sees."""
    best = [
        select(evaluated.c.evaluation_id)
        .where(
            evaluated.c.environment_id == environments.c.id,
            evaluated.c.audience == audience,
            evaluated.c.mean_reward.is_not(None),
        )
        .order_by(evaluated.c.mean_reward.desc(), evaluated.c.evaluation_id.desc())
        .limit(1)
        .correlate(environments)
        .scalar_subquery()
        .label(f"best_{number}")
        for number, audience in enumerate(audiences)
    ]
    rows = connection.execute(select(environments.c.id, *best).where(environments.c.id.in_(ids)))
    return {row[0]: [each for each in row[1:] if each is not None] for row in rows}


def _is_beside_hidden() -> ColumnElement[bool]:
    """Whether another environment of the evaluation is private, or was when it was deleted."""
    hidden = or_(
        and_(environments.c.id.is_(None), _OTHER.c.was_public.is_(False)),
        environments.c.visibility != PUBLIC,
    )
    return (
        select(_OTHER.c.position)
        .select_from(_OTHER.outerjoin(environments, _OTHER.c.environment_id == environments.c.id))
        .where(
            _OTHER.c.evaluation_id == evaluations.c.id,
            _OTHER.c.position != evaluated.c.position,
            hidden,
        )
        .correlate(evaluations, evaluated)
        .exists()
    )


def _counted(connection: Connection, evaluation_id: str) -> set[str]:
    """The environments that count it."""
    rows = connection.execute(
        select(evaluated.c.environment_id).where(
            evaluated.c.evaluation_id == evaluation_id,
            evaluated.c.audience == EVERYBODY,
            evaluated.c.environment_id.is_not(None),
        )
    )
    return set(rows.scalars())


def _count(connection: Connection, before: set[str], after: set[str]) -> None:
    # Sorted, so that two writers could never wait for each other's rows.
    for each in sorted(before ^ after):
        change = 1 if each in after else -1
        connection.execute(
            update(environments)
            .where(environments.c.id == each)
            .values(evaluations=environments.c.evaluations + change)
        )
