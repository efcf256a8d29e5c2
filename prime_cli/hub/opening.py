"""Open a hub's data: for the application, and for commands that work beside it."""

from prime_cli.core.paths import make_folder
from prime_cli.hub.context import Hub
from prime_cli.hub.db.schema import open_database
from prime_cli.hub.settings import HubSettings
from prime_cli.hub.simple_tree import SimpleTree
from prime_cli.hub.storage.files import FileStorage


def open_hub(settings: HubSettings) -> Hub:
    """The hub whose data `settings` name; its folder and tables are made when there are none.

    Raises StorageFailed when they cannot be used.
    """
    make_folder(settings.data)
    database = open_database(
        settings.database or settings.data / "hub.db",
        synchronous="NORMAL" if settings.embedded else "FULL",
    )
    files = FileStorage(settings.data / "blobs")
    if settings.storage is not None:
        return Hub(settings, database, settings.storage, tree=None)
    tree = SimpleTree(settings.data / "simple", files) if settings.embedded else None
    return Hub(settings, database, files, tree)
