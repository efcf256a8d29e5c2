"""One evaluation, and the list of those that are a caller's own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, func, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluated, evaluations, owners
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.evaluations.access import find_evaluation, select_evaluations
from prime_cli.hub.services.evaluations.describing import describe_evaluation, select_evaluated
from prime_cli.hub.services.owners import find_own_team
from prime_cli.wire.evaluations import EvaluationDetail, EvaluationPage


@dataclass(frozen=True)
class EvaluationQuery:
    """What a list is asked for; an environment's name is `name` or `owner/name`."""

    environment_id: str | None = None
    environment_name: str | None = None
    suite_id: str | None = None
    team_id: str | None = None
    skip: int = 0
    limit: int = 50


def get_evaluation(hub: Hub, caller: Caller, evaluation_id: str) -> EvaluationDetail:
    """Everything about one evaluation but its samples; raises NotFound."""
    with hub.database.read() as connection:
        row = find_evaluation(connection, caller, evaluation_id)
        environments = connection.execute(select_evaluated([row.id])).all()
    return describe_evaluation(hub, row, environments)


def list_evaluations(hub: Hub, caller: Caller, query: EvaluationQuery) -> EvaluationPage:
    """One page of the evaluations of the caller and the caller's teams, newest first.

    Raises NotLoggedIn when nobody known asks, NotFound for a team of others.
    """
    require_user(caller)
    with hub.database.read() as connection:
        wanted = _conditions(connection, caller, query)
        rows = connection.execute(
            select_evaluations()
            .where(*wanted)
            .order_by(evaluations.c.created_at.desc(), evaluations.c.id)
            .limit(query.limit)
            .offset(query.skip)
        ).all()
        total = connection.execute(
            select(func.count())
            .select_from(evaluations.join(owners, evaluations.c.owner_id == owners.c.id))
            .where(*wanted)
        ).scalar_one()
        environments = _environments_of(connection, rows)
    return EvaluationPage(
        [describe_evaluation(hub, row, environments[row.id]) for row in rows],
        total=total,
        skip=query.skip,
        limit=query.limit,
    )


def _conditions(
    connection: Connection, caller: Caller, query: EvaluationQuery
) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = [owners.c.slug.in_(caller.reads)]
    if query.team_id:
        team = find_own_team(connection, caller, query.team_id)
        wanted.append(evaluations.c.owner_id == team.id)
    if query.suite_id:
        wanted.append(evaluations.c.suite_id == query.suite_id)
    if query.environment_id:
        wanted.append(_evaluates(evaluated.c.environment_id == query.environment_id))
    if name := query.environment_name:
        wanted.append(
            _evaluates(
                evaluated.c.slug == name
                if "/" in name
                else evaluated.c.slug.endswith(f"/{name}", autoescape=True)
            )
        )
    return wanted


def _evaluates(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(evaluated.c.evaluation_id == evaluations.c.id, condition)


def _environments_of(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, list[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select_evaluated([row.id for row in rows])):
        found[row.evaluation_id].append(row)
    return found
