"""Blobs that nothing names any more."""

from collections.abc import Collection

from sqlalchemy import exists, select

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import artifacts
from prime_cli.hub.services.holds import blobs_are_held


def forget_blobs(hub: Hub, digests: Collection[str]) -> None:
    """Delete the blobs that no artefact names, in a transaction of its own.

    Called after the rows are gone for good, so a killed process leaves a blob too many, never one
    too few; `prime hub gc` finds it, as it finds those that a backup held. Nobody can begin to
    upload the same bytes meanwhile: that writes a row first.
    """
    if not digests:
        return
    with hub.database.write() as connection:
        if blobs_are_held(connection):
            return
        for digest in digests:
            named = select(exists().where(artifacts.c.sha256 == digest))
            if not connection.execute(named).scalar_one():
                hub.storage.delete(digest)
