"""The context of every service: settings, database, storage, index files; and the caller.

Opening a hub creates or migrates its database.
"""

from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from prime_cli.core.paths import make_folder
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.sqlite import Synchronous, create_sqlite, open_sqlite
from prime_cli.hub.db.tables import SCHEMA, metadata
from prime_cli.hub.index_pages import SimpleTree
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.storage import Storage
from prime_cli.hub.storage.files import FileStorage

OPERATOR = "cli"


class Caller(Struct, frozen=True):
    """The caller of a request, and the slugs of the owners that it may act for.

    `slug` is empty without a key. `reads` are the owners whose private environments and evaluations
    are visible, `writes` those for which the caller may publish, change and delete, `manages` those
    whose keys and members it may change. `publishes` are the environments (`owner/name`, or
    `owner/*` for all) that a CI job may publish, which may write nothing else. `admin` may
    administer the whole hub, which does not include seeing private environments. A key that is
    `limited` to an owner or to publishing changes no account and no team. The key of a user
    whom an admin has `suspended`, for that reason, speaks for nobody; nor do credentials that are
    `rejected`, since they are no valid key.
    """

    slug: str = ""
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    manages: frozenset[str] = frozenset()
    publishes: frozenset[str] = frozenset()
    admin: bool = False
    key_id: str | None = None
    address: str = ""
    suspended: str | None = None
    rejected: bool = False
    limited: bool = False

    @classmethod
    def alone(cls, owner: str) -> "Caller":
        """The one user of a hub without accounts."""
        mine = frozenset({owner})
        return cls(owner, reads=mine, writes=mine, manages=mine, admin=True)

    @classmethod
    def operator(cls) -> "Caller":
        """A user of commands on the hub's machine; `cli` in the audit log."""
        return cls(OPERATOR, admin=True)

    @property
    def operates(self) -> bool:
        """Whether the caller is the operator: no key can have that name."""
        return self.admin and self.slug == OPERATOR


class Hub(Struct, frozen=True):
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


# --- Opening ---


def open_hub(settings: HubSettings) -> Hub:
    """Open the hub whose data `settings` name, creating its folder and tables if needed.

    Raises StorageFailed if they are unusable.
    """
    make_folder(settings.data)
    database = open_database(
        settings.database or settings.data / "hub.db",
        synchronous="NORMAL" if settings.embedded else "FULL",
    )
    files = FileStorage(settings.data / "blobs")
    if settings.storage is not None:
        return Hub(settings, database, settings.storage, tree=None)
    has_index = settings.embedded or settings.file_index
    tree = SimpleTree(settings.data / "simple", files) if has_index else None
    return Hub(settings, database, files, tree)


def open_database(location: Path | str, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The database at `location`, with the tables of this release.

    A path is a SQLite file, with `synchronous` as in `open_sqlite`; a text is a `postgresql://`
    URL, where the server decides what a commit waits for. Raises StorageFailed if it cannot be
    created or belongs to a newer release, Unreachable without a server, UsageError for an invalid
    URL.
    """
    if isinstance(location, str):
        # Takes 60 ms to import, and only a served hub has the driver.
        from prime_cli.hub.db.postgres import open_postgres

        return _at_this_schema(open_postgres(location))
    if not location.exists():
        create_sqlite(location, metadata)
    return _at_this_schema(open_sqlite(location, synchronous=synchronous))


def _at_this_schema(database: Database) -> Database:
    with database.read() as connection:
        version = database.schema_version(connection)
    if version != str(SCHEMA):
        # Alembic takes 60 ms to import, and almost no command needs it.
        from prime_cli.hub.db.migrations import migrate

        migrate(database)
    return database
