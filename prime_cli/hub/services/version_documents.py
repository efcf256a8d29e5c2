"""Documents beside a version: its lock, the report of its check, its signatures."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import delete, insert, select

from prime_cli.core.errors import IntegrityError, NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import locks, reports, signatures
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.check_reports import SCHEMA, CheckReport, CheckSummary, summarize, verdict_of
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import LONGEST_SIGNATURE, MOST_SIGNATURES, Lock, Signature, Signatures

# --- Locks ---


def get_lock(hub: Hub, caller: Caller, ref: EnvRef) -> Lock:
    """The lock of a version; raises NotFound when it has none."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(locks.c.body).where(locks.c.version_id == version.id)
        ).scalar()
    if body is None:
        raise NotFound(f"`{ref.slug}@{version.semantic_version}` has no lock")
    return decode(body.encode(), Lock)


def put_lock(hub: Hub, caller: Caller, ref: EnvRef, lock: Lock) -> Lock:
    """Keep the lock of a version, in place of an older one.

    Raises IntegrityError when it was made for another wheel, NotAllowed for somebody else's.
    """
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        if lock.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(
                f"The lock is for another wheel than `{ref.slug}@{version.semantic_version}`"
            )
        connection.execute(delete(locks).where(locks.c.version_id == version.id))
        connection.execute(
            insert(locks).values(
                version_id=version.id, body=encode(lock).decode(), updated_at=hub.now()
            )
        )
        raise_serial(connection, environment.id)
    return lock


# --- Check reports ---

MOST_REPORT_BYTES = 64 * 1024
"""A report of some twenty checks has about 4 KB."""


def get_report(hub: Hub, caller: Caller, ref: EnvRef) -> CheckReport:
    """The report of a version; raises NotFound when it has none."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(reports.c.body).where(reports.c.version_id == version.id)
        ).scalar()
    if body is None:
        raise NotFound(
            f"`{ref.slug}@{version.semantic_version}` has no check report",
            hint=f"check it yourself with `prime env check {ref.slug}`",
        )
    return decode(body.encode(), CheckReport)


def put_report(hub: Hub, caller: Caller, ref: EnvRef, report: CheckReport) -> CheckSummary:
    """Keep the report of a version, in place of an older one.

    Raises IntegrityError when it is about another wheel, UsageError when it contradicts itself,
    NotAllowed for somebody else's.
    """
    _check_report(report)
    summary = summarize(report)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        target = f"{ref.slug}@{version.semantic_version}"
        if report.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(f"The report is for another wheel than `{target}`")
        connection.execute(delete(reports).where(reports.c.version_id == version.id))
        connection.execute(
            insert(reports).values(
                version_id=version.id,
                summary=encode(summary).decode(),
                body=encode(report).decode(),
                updated_at=hub.now(),
            )
        )
        record(hub, connection, caller, "version.check", target, verdict=summary.verdict)
        raise_serial(connection, environment.id)
    return summary


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

MOST_SIGNATURE_BYTES = MOST_SIGNATURES * LONGEST_SIGNATURE + 4096
_SSH = ("-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n")


def get_signatures(hub: Hub, caller: Caller, ref: EnvRef) -> Signatures:
    """The signatures of a version; raises NotFound when it has none."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(signatures.c.body).where(signatures.c.version_id == version.id)
        ).scalar()
    if body is None:
        raise NotFound(f"`{ref.slug}@{version.semantic_version}` is not signed")
    return decode(body.encode(), Signatures)


def put_signatures(hub: Hub, caller: Caller, ref: EnvRef, given: Signatures) -> Signatures:
    """Keep the signatures of a version, in place of those it had; none takes them away.

    Raises IntegrityError when they are about another wheel, UsageError for what is no signature,
    NotAllowed for somebody else's.
    """
    for each in given.signatures:
        _check_signature(each)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        target = f"{ref.slug}@{version.semantic_version}"
        if given.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(f"The signatures are for another wheel than `{target}`")
        connection.execute(delete(signatures).where(signatures.c.version_id == version.id))
        count = len(given.signatures)
        if count:
            values = {"number": count, "body": encode(given).decode(), "updated_at": hub.now()}
            connection.execute(insert(signatures).values(version_id=version.id, **values))
        record(hub, connection, caller, "version.sign", target, signatures=count)
        raise_serial(connection, environment.id)
    return given


def _check_signature(signature: Signature) -> None:
    body = signature.body
    if signature.kind == "ssh":
        begin, end = _SSH
        if not (body.isascii() and body.startswith(begin) and body.endswith(end)):
            raise UsageError("A signature of kind `ssh` must be the output of `ssh-keygen -Y sign`")
    elif not isinstance(decode(body.encode(), object), dict):
        raise UsageError("A signature of kind `pep740` must be the JSON of an attestation")
