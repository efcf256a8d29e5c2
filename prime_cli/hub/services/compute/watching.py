"""What a served hub does about pods when nobody asks, one process of it at a time."""

from datetime import datetime

from sqlalchemy import insert, or_, select, update

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import counters
from prime_cli.hub.services.compute.access import THE_HUB, is_live, select_pods
from prime_cli.hub.services.compute.looking import look_after
from prime_cli.hub.services.compute.sweeping import sweep
from prime_cli.wire.pods import Swept

_LOOKED = "pods looked after"
_SWEPT = "pods swept"


def look_after_all(hub: Hub, seconds: float) -> bool:
    """Look at all live pods, and end those past their deadline.

    False when another process has done so within half of `seconds`, and nothing was done.
    """
    if not _claim(hub, _LOOKED, seconds / 2):
        return False
    with hub.database.read() as connection:
        rows = connection.execute(select_pods().where(is_live())).all()
    look_after(hub, rows)
    return True


def is_swept(hub: Hub, since: datetime) -> bool:
    """Whether a process has begun a sweep after this moment, or in the same second."""
    with hub.database.read() as connection:
        begun = connection.execute(select(counters.c.value).where(counters.c.name == _SWEPT))
        return (begun.scalar() or 0) >= int(since.timestamp())


def sweep_all(hub: Hub, seconds: float) -> Swept | None:
    """End everything that is there without need; None when another process has just done so."""
    if not _claim(hub, _SWEPT, seconds / 2):
        return None
    return sweep(hub, THE_HUB, dry_run=False)


def _claim(hub: Hub, name: str, seconds: float) -> bool:
    """Whether this process is the one to do `name` now: nobody has for some `seconds`.

    Who dies at it is followed by somebody else once they are over. A time that is yet to come was
    written by a clock that was wrong.
    """
    now = int(hub.settings.clock().timestamp())
    due = or_(counters.c.value <= now - seconds, counters.c.value > now)
    taken = update(counters).where(counters.c.name == name, due).values(value=now)
    with hub.database.write() as connection:
        if connection.execute(taken).rowcount:
            return True
        known = connection.execute(select(counters.c.value).where(counters.c.name == name)).scalar()
        if known is None:
            connection.execute(insert(counters).values(name=name, value=now))
        return known is None
