"""Documents beside a version: its lock, the report of its check, its signatures."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic

from sqlalchemy import Table, delete, insert, select

from prime_cli.core.errors import IntegrityError, NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import locks, reports, signatures
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.audit import note
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.check_reports import SCHEMA, CheckReport, summarize, verdict_of
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import Lock, Signature, Signatures
from prime_cli.wire.version_documents import CHECK_REPORT, LOCK, SIGNATURES, D, DocumentKind

# --- Getting and storing ---


def get_document(hub: Hub, caller: Caller, ref: EnvRef, kind: DocumentKind[D]) -> D:
    """The document of a version; raises NotFound when it has none."""
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
    """Store the document of a version, in place of an older one; returns the kind's reply.

    Raises IntegrityError when it is about another wheel, UsageError when it contradicts itself,
    NotAllowed for another owner's version.
    """
    store = _STORES[kind.path]
    store.check(document)
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
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


# --- Check reports ---


def _check_report(report: CheckReport) -> None:
    if report.schema != SCHEMA:
        raise UsageError(f"The report has schema {report.schema}, and this hub knows {SCHEMA}")
    if len({check.id for check in report.checks}) < len(report.checks):
        raise UsageError("The report contains the same check twice")
    if report.verdict != verdict_of(report.checks):
        raise UsageError(f"The report's verdict `{report.verdict}` does not match its checks")
    if not all(text.isprintable() for text in _texts(report)):
        raise UsageError("The report contains control characters")
    try:
        datetime.fromisoformat(report.date)
    except ValueError as error:
        raise UsageError("The report's date is not ISO 8601") from error


def _texts(report: CheckReport) -> Iterator[str]:
    yield from (report.environment, report.prime, report.python or "", report.verifiers or "")
    for check in report.checks:
        yield check.sentence
        yield check.step or ""


# --- Signatures ---

_SSH = ("-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n")


def _check_signatures(given: Signatures) -> None:
    for each in given.signatures:
        _check_signature(each)


def _check_signature(signature: Signature) -> None:
    body = signature.body
    if signature.kind == "ssh":
        begin, end = _SSH
        if not (body.isascii() and body.startswith(begin) and body.endswith(end)):
            raise UsageError("A signature of kind `ssh` must be the output of `ssh-keygen -Y sign`")
    elif not isinstance(decode(body.encode(), object), dict):
        raise UsageError("A signature of kind `pep740` must be the JSON of an attestation")


# --- Tables ---


@dataclass(frozen=True)
class _Store(Generic[D]):
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
        check=_check_report,
        columns=_summary_column,
        action="version.check",
        detail=lambda report: {"verdict": report.verdict},
    ),
    SIGNATURES.path: _Store[Signatures](
        signatures,
        "The signatures are",
        "is not signed",
        check=_check_signatures,
        columns=_count_column,
        action="version.sign",
        detail=lambda given: {"signatures": len(given.signatures)},
    ),
}
