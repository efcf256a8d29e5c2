"""Documents beside a version: its lock, its check report and its signatures."""

from collections.abc import Callable, Mapping
from typing import Any, Generic

from msgspec import Struct
from sqlalchemy import (
    Table,
    delete,
    insert,
    select,
)

from prime_cli.core.errors import IntegrityError, NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import (
    locks,
    reports,
    signatures,
)
from prime_cli.hub.services.access import (
    find_environment,
    require_publisher,
)
from prime_cli.hub.services.audit import note, raise_serial
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.services.versions import find_version
from prime_cli.hub.validation import check_report, check_signatures
from prime_cli.wire.check_reports import CheckReport, summarize
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import Lock, Signatures
from prime_cli.wire.version_documents import CHECK_REPORT, LOCK, SIGNATURES, D, DocumentKind


def get_document(hub: Hub, caller: Caller, ref: EnvRef, kind: DocumentKind[D]) -> D:
    """The document of a version; raises NotFound if it has none."""
    store = _STORES[kind.path]
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(store.table.c.body).where(store.table.c.version_id == version.id)
        ).scalar()
    if body is None:
        hint = store.hint and store.hint.format(slug=ref.slug)
        raise NotFound(f"`{ref.slug}@{version.semantic_version}` {store.missing}", hint=hint)
    return decode(body.encode(), kind.document_type)


def put_document(hub: Hub, caller: Caller, ref: EnvRef, kind: DocumentKind[D], document: D) -> Any:
    """Store the document of a version, replacing an older one; returns the kind's reply.

    Raises IntegrityError when it is about another wheel, UsageError when it contradicts itself,
    NotAllowed for another owner's version.
    """
    store = _STORES[kind.path]
    store.check(document)
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        environment = find_environment(connection, caller, ref)
        require_publisher(caller, environment.owner, environment.name)
        version = find_version(connection, environment, ref.wire_version)
        target = f"{ref.slug}@{version.semantic_version}"
        if document.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(f"{store.subject} for another wheel than `{target}`")
        connection.execute(delete(store.table).where(store.table.c.version_id == version.id))
        columns = store.columns(document)
        if columns is not None:
            body = {"body": encode(document).decode(), "updated_at": hub.now()}
            row = {"version_id": version.id, **body, **columns}
            connection.execute(insert(store.table).values(row))
        if store.action is not None:
            note(hub, connection, caller, store.action, target, **store.detail(document))
        raise_serial(connection, environment.id)
    return kind.reply(document)


# --- Tables of documents ---


class _Store(Struct, Generic[D], frozen=True):
    """How one kind is kept: its table, what may be in it, and what the audit log says.

    `columns` are those beside the body; None keeps no row. `subject` is what a sentence about a
    document begins with, and `missing` is what is said of a version without one.
    """

    table: Table
    subject: str
    missing: str
    hint: str | None = None
    check: Callable[[D], None] = lambda _: None
    columns: Callable[[D], Mapping[str, Any] | None] = lambda _: {}
    action: str | None = None
    detail: Callable[[D], Mapping[str, Any]] = lambda _: {}


def _summary_column(report: CheckReport) -> Mapping[str, Any]:
    return {"summary": encode(summarize(report)).decode()}


def _count_column(given: Signatures) -> Mapping[str, Any] | None:
    return {"number": len(given.signatures)} if given.signatures else None


_STORES: Mapping[str, _Store[Any]] = {
    LOCK.path: _Store[Lock](locks, "The lock is", "has no lock"),
    CHECK_REPORT.path: _Store[CheckReport](
        reports,
        "The report is",
        "has no check report",
        hint="check it yourself with `prime env check {slug}`",
        check=check_report,
        columns=_summary_column,
        action="version.check",
        detail=lambda report: {"verdict": report.verdict},
    ),
    SIGNATURES.path: _Store[Signatures](
        signatures,
        "The signatures are",
        "is not signed",
        check=check_signatures,
        columns=_count_column,
        action="version.sign",
        detail=lambda given: {"signatures": len(given.signatures)},
    ),
}
