"""Which shelves a caller may look at, and how many environments stand on them."""

from sqlalchemy import Connection, select

from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import owners, tallies
from prime_cli.hub.services.access import PRIVATE, PUBLIC
from prime_cli.hub.shelves import Shelf


def stocked_shelves(
    connection: Connection,
    caller: Caller,
    *,
    owner: str | None = None,
    mine_only: bool = False,
    visibility: str | None = None,
) -> dict[Shelf, int]:
    """The shelves that hold all the caller may see of that owner and visibility, fullest first.

    No environment stands on two of them; those that are empty are left out.
    """
    ids = _ids_of(connection, caller.reads | ({owner} if owner else frozenset()))
    mine = {ids[slug] for slug in caller.reads if slug in ids}
    if owner is None and not mine_only:
        shelves = [Shelf(PUBLIC), *(Shelf(PRIVATE, one) for one in mine)]
    else:
        wanted = mine if owner is None else {ids[owner]} if owner in ids else set()
        wanted = wanted & mine if mine_only else wanted
        shelves = [Shelf(PUBLIC, one) for one in wanted]
        shelves += [Shelf(PRIVATE, one) for one in wanted & mine]
    return _count(connection, [each for each in shelves if visibility in (None, each.visibility)])


def _ids_of(connection: Connection, slugs: frozenset[str]) -> dict[str, str]:
    rows = select(owners.c.slug, owners.c.id).where(owners.c.slug.in_(sorted(slugs)))
    return {row.slug: row.id for row in connection.execute(rows)}


def _count(connection: Connection, shelves: list[Shelf]) -> dict[Shelf, int]:
    by_token = {shelf.token: shelf for shelf in shelves}
    rows = connection.execute(
        select(tallies).where(tallies.c.token.in_(sorted(by_token)), tallies.c.count > 0)
    )
    counts: dict[Shelf, int] = {by_token[token]: count for token, count in rows}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].token)))
