"""The report of a check beside a version: what its publisher found, not what this hub did."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import delete, insert, select

from prime_cli.core.errors import IntegrityError, NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import reports
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.check_reports import SCHEMA, CheckReport, CheckSummary, summarize, verdict_of
from prime_cli.wire.codec import decode, encode

MOST_BYTES = 64 * 1024
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
            f"`{ref.slug}@{version.semantic_version}` was published without a check",
            hint=f"check it yourself with `prime env check {ref.slug}`",
        )
    return decode(body.encode(), CheckReport)


def put_report(hub: Hub, caller: Caller, ref: EnvRef, report: CheckReport) -> CheckSummary:
    """Keep the report of a version, in place of an older one.

    Raises IntegrityError when it is about another wheel, UsageError when it contradicts itself,
    NotAllowed for somebody else's.
    """
    _check(report)
    summary = summarize(report)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        target = f"{ref.slug}@{version.semantic_version}"
        if report.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(f"The report is of another wheel than `{target}`")
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


def _check(report: CheckReport) -> None:
    if report.schema != SCHEMA:
        raise UsageError(f"The report has schema {report.schema}, and this hub knows {SCHEMA}")
    if len({check.id for check in report.checks}) < len(report.checks):
        raise UsageError("The report has the same check twice")
    if report.verdict != verdict_of(report.checks):
        raise UsageError(f"The report's verdict `{report.verdict}` is not that of its checks")
    if not all(text.isprintable() for text in _texts(report)):
        raise UsageError("The report has control characters in its texts")
    try:
        datetime.fromisoformat(report.date)
    except ValueError as error:
        raise UsageError("The report's date is not ISO 8601") from error


def _texts(report: CheckReport) -> Iterator[str]:
    yield from (report.environment, report.prime, report.python or "", report.verifiers or "")
    for check in report.checks:
        yield check.sentence
        yield check.step or ""
