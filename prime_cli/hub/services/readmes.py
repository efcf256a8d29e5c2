"""READMEs of versions as HTML, rendered at the first view and kept beside the version."""

import logging
import threading
from contextlib import suppress

from sqlalchemy import Connection, delete, insert, select

from prime_cli.core.errors import NotFound, StorageFailed, Unreachable
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import readmes, versions
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.environments import inspect_sources
from prime_cli.hub.services.versions import find_version
from prime_cli.pages.environments import render_plain
from prime_cli.pages.markdown import RENDERER, RenderingFailed, render_bounded
from prime_cli.wire.environments import Inspection, InspectQuery

_README = InspectQuery("README.md", max_bytes=256 * 1024)
_AT_ONCE = 2
_WAIT_SECONDS = 5.0
_NOTHING = "<p></p>\n"
"""What shows nothing, such as definitions of links alone; empty means not rendered."""
_log = logging.getLogger(__name__)
_rendering = threading.BoundedSemaphore(_AT_ONCE)


def get_readme(hub: Hub, caller: Caller, ref: EnvRef) -> str:
    """The README of a version as safe HTML; empty if it has none. Raises NotFound.

    One that is too large, or cannot be rendered within bounds, is shown as its text.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version_id = find_version(connection, environment, ref.wire_version).id
        html = _kept(connection, version_id)
    if html:
        return html
    found = _source(hub, caller, ref)
    source = (found.content if found else None) or ""
    if not source.strip():
        return ""
    if html is None and found and not found.truncated:
        html = _render(hub, version_id, source)
    return html or render_plain(source)


def _kept(connection: Connection, version_id: str) -> str | None:
    """None if this renderer has not seen it; empty if it could not render it."""
    found = select(readmes.c.html).where(
        readmes.c.version_id == version_id, readmes.c.renderer == RENDERER
    )
    return connection.execute(found).scalar()


def _source(hub: Hub, caller: Caller, ref: EnvRef) -> Inspection | None:
    try:
        return inspect_sources(hub, caller, ref, _README)
    except NotFound:
        return None


def _render(hub: Hub, version_id: str, source: str) -> str | None:
    """The HTML, kept for the next view; empty, and kept too, for a text beyond the bounds.

    None if it could not be tried now.
    """
    # So that views of many hostile READMEs take two cores at most.
    if not _rendering.acquire(timeout=_WAIT_SECONDS):
        return None
    try:
        html = render_bounded(source)
    except RenderingFailed as error:
        _log.warning("A README was not rendered: %s", error)
        return None
    finally:
        _rendering.release()
    kept = "" if html is None else html or _NOTHING
    # A page must be shown even while nothing can be written.
    with suppress(StorageFailed, Unreachable):
        _keep(hub, version_id, kept)
    return kept


def _keep(hub: Hub, version_id: str, html: str) -> None:
    with hub.database.write() as connection:
        connection.execute(delete(readmes).where(readmes.c.version_id == version_id))
        # The version may have been deleted meanwhile.
        if connection.execute(select(versions.c.id).where(versions.c.id == version_id)).first():
            connection.execute(
                insert(readmes).values(version_id=version_id, renderer=RENDERER, html=html)
            )
