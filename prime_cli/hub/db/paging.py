"""Pages of lists, which the database cuts."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from prime_cli.wire.queries import PageQuery


def read_page(
    connection: Connection, wanted: Select[Any], order: ColumnElement[Any], query: PageQuery
) -> tuple[list[Row[Any]], int]:
    """The rows of a page in an order without ties, and how many there are on all pages."""
    every = wanted.with_only_columns(order, maintain_column_froms=True).subquery()
    total = connection.execute(select(func.count()).select_from(every)).scalar_one()
    rows = connection.execute(wanted.order_by(order).offset(query.offset).limit(query.limit)).all()
    return list(rows), total
