"""READMEs of versions as HTML, rendered once they are published and kept beside the version."""

import logging
import queue
import threading
from contextlib import suppress
from functools import cache

from sqlalchemy import Connection, delete, insert, select

from prime_cli.core.errors import NotFound, PrimeError, StorageFailed, Unreachable
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, readmes, versions
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.environments import inspect_sources
from prime_cli.hub.services.versions import find_version
from prime_cli.pages.environment import render_plain
from prime_cli.pages.links import files_path
from prime_cli.pages.markdown import RENDERER, RenderingFailed, render_bounded
from prime_cli.wire.environment_sources import Inspection, InspectQuery

_README = InspectQuery("README.md", max_bytes=256 * 1024)
_AT_ONCE = 2
_WAIT_SECONDS = 5.0
_NOTHING = "<p></p>\n"
"""What shows nothing, such as definitions of links alone; empty means not rendered."""
_log = logging.getLogger(__name__)
_rendering = threading.BoundedSemaphore(_AT_ONCE)
_MOST_WAITING = 1000
_waiting: "queue.Queue[tuple[Hub, Caller, EnvRef]]" = queue.Queue(_MOST_WAITING)


def render_soon(hub: Hub, caller: Caller, ref: EnvRef) -> None:
    """Render the README of a version that was just published, in the background of a served hub.

    One that nobody comes to, as its process ends or very many are published at once, is rendered at
    its first view; so are all of a hub inside a command, which must not wait for it.
    """
    if hub.settings.embedded:
        return
    with suppress(queue.Full):
        _waiting.put_nowait((hub, caller, ref))
        _start()


@cache
def _start() -> None:
    threading.Thread(target=_render_all, name="readmes", daemon=True).start()


def _render_all() -> None:
    while True:
        hub, caller, ref = _waiting.get()
        try:
            get_readme(hub, caller, ref)
        except PrimeError as error:
            _log.info("The README of %s was not rendered: %s", ref, error.message)
        except Exception:  # noqa: BLE001 - a bug must not end the thread of all
            _log.exception("The README of %s was not rendered", ref)


def get_readme(hub: Hub, caller: Caller, ref: EnvRef) -> str:
    """The README of a version as safe HTML; empty if it has none. Raises NotFound.

    One that is too large, or cannot be rendered within bounds, is shown as its text.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        html = _kept(connection, version.id)
    if html:
        return html
    found = _source(hub, caller, ref)
    source = (found.content if found else None) or ""
    if not source.strip():
        return ""
    files = files_path(f"{environment.owner}/{environment.name}", version.semantic_version)
    if html is None and found and not found.truncated:
        html = _render(hub, version.id, source, files)
    return html or render_plain(source, files)


def forget_readmes(connection: Connection, owner_id: str) -> None:
    """Render those of an owner again when they are seen: their links have the owner's name."""
    theirs = (
        select(versions.c.id)
        .join(environments, versions.c.environment_id == environments.c.id)
        .where(environments.c.owner_id == owner_id)
    )
    connection.execute(delete(readmes).where(readmes.c.version_id.in_(theirs.scalar_subquery())))


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


def _render(hub: Hub, version_id: str, source: str, files: str) -> str | None:
    """The HTML, kept for the next view; empty, and kept too, for a text beyond the bounds.

    None if it could not be tried now.
    """
    # So that views of many hostile READMEs take two cores at most.
    if not _rendering.acquire(timeout=_WAIT_SECONDS):
        return None
    try:
        html = render_bounded(source, files)
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
