"""What every service is given: settings, database, storage, and the index files if embedded."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from prime_cli.hub.db.engine import Database
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.simple_tree import SimpleTree
from prime_cli.hub.storage import Storage


@dataclass(frozen=True)
class Caller:
    """Who asks: the slug of an owner on this hub."""

    slug: str


@dataclass(frozen=True)
class Hub:
    """The parts of one hub application; `tree` is None unless it is embedded."""

    settings: HubSettings
    database: Database
    storage: Storage
    tree: SimpleTree | None

    def now(self) -> str:
        """The time as the tables keep it."""
        return timestamp(self.settings.clock())

    def after(self, seconds: float) -> str:
        """The time `seconds` from now, or before now if negative."""
        return timestamp(self.settings.clock() + timedelta(seconds=seconds))


def timestamp(moment: datetime) -> str:
    """`2026-11-21T02:16:41.000000Z`, from an aware datetime in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
