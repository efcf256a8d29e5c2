"""The hub's database on PostgreSQL, through psycopg 3; imported only by served hubs."""

from typing import Any

from sqlalchemy import Column, Engine, create_engine, event
from sqlalchemy.dialects.postgresql.base import PGTypeCompiler
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from prime_cli.core.errors import (
    IntegrityError,
    PrimeError,
    StorageFailed,
    Unreachable,
    UsageError,
)
from prime_cli.core.installation import install_command
from prime_cli.hub.db.engine import Database

_SCHEMES = ("postgresql", "postgres")
_SECONDS = 30
_WRITER = 0x7072696D65
"""The advisory lock of exclusive writes, per database: `prime` in ASCII."""

_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_LOCK = f"SELECT pg_advisory_xact_lock({_WRITER})"

_LIMITS = {
    "statement_timeout": f"{_SECONDS}s",
    "lock_timeout": f"{_SECONDS}s",
    # A process that hangs in a transaction must not block all writes.
    "idle_in_transaction_session_timeout": "60s",
}
_UNLIMITED = "; ".join(f"SET LOCAL {name} = 0" for name in _LIMITS)
_ARGUMENTS = {
    "application_name": "prime-hub",
    "client_encoding": "utf8",
    "connect_timeout": "5",
    # Milliseconds until a silent server counts as lost.
    "tcp_user_timeout": f"{_SECONDS}000",
}

_MEANINGS: tuple[tuple[tuple[str, ...], type[PrimeError], str, str], ...] = (
    (
        ("53100",),
        StorageFailed,
        "The disk of {name} is full: nothing was written",
        "free some space there, then run the same command again",
    ),
    (
        ("25006", "42501"),
        StorageFailed,
        "{name} cannot be written: {reason}",
        "make the user in its URL the owner of the database, and use the primary server",
    ),
    (
        ("55P03",),
        StorageFailed,
        f"{{name}} has been in use by another process for {_SECONDS} seconds",
        "wait for the other to end, then run the same command again",
    ),
    (
        ("57014",),
        Unreachable,
        f"{{name}} did not answer within {_SECONDS} seconds",
        "run the same command again, or ask for less at once",
    ),
    (
        ("40",),
        Unreachable,
        "{name} cancelled one of two deadlocked writes",
        "run the same command again",
    ),
    (
        ("XX001", "XX002"),
        IntegrityError,
        "{name} is damaged: {reason}",
        "restore it from a backup",
    ),
    (
        ("08", "25P03", "28", "3D", "53", "57P"),
        Unreachable,
        "{name} cannot be reached: {reason}",
        "check that the server runs and that the URL is right, then run the same command again",
    ),
)
"""Errors by prefixes of SQLSTATE (appendix A of PostgreSQL's manual)."""


class PostgresDatabase(Database):
    """Transactions on a PostgreSQL database.

    Exclusive writes take an advisory lock first. A stricter isolation level would let two writers
    proceed and fail one at its end, and a block cannot be repeated, since other systems may have
    seen its effects. With the lock a block sees what the last one committed (READ COMMITTED takes
    a snapshot for each statement), so serialization failures and deadlocks are impossible. Blocks
    without the lock can deadlock, which is raised as Unreachable.
    """

    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    begin_adding = _BEGIN
    begin_alone = f"{_BEGIN}; {_LOCK}"
    begin_occupying = f"{_BEGIN}; {_UNLIMITED}; {_LOCK}"

    def failure(self, error: DBAPIError) -> PrimeError:
        # Failures before a connection exists have no state.
        state = getattr(error.orig, "sqlstate", None) or "08000"
        reason = _reason(error)
        for states, kind, sentence, hint in _MEANINGS:
            if state.startswith(states):
                return kind(sentence.format(name=self.name, reason=reason), hint=hint)
        return StorageFailed(f"{self.name} failed: {reason}")


class BytewiseText(PGTypeCompiler):
    """Gives every text column the collation "C".

    Times, names and keys then sort and compare bytewise as in SQLite, and indexes serve
    `LIKE 'prefix%'`.
    """

    def visit_VARCHAR(self, type_: Any, **kwargs: Any) -> str:  # noqa: N802
        return _bytewise(super().visit_VARCHAR(type_, **kwargs), kwargs)

    def visit_TEXT(self, type_: Any, **kwargs: Any) -> str:  # noqa: N802
        return _bytewise(super().visit_TEXT(type_, **kwargs), kwargs)


def open_postgres(text: str) -> Database:
    """Open `postgresql://user:password@host:port/name?option=value`, with options of libpq.

    Password and options are never shown. Raises UsageError for an invalid URL, Unreachable when the
    server does not answer, StorageFailed for a database that is not in UTF-8.
    """
    url = _read_url(text)
    database = PostgresDatabase(_make_engine(url), _name(url))
    with database.read() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StorageFailed(
            f"{database.name} keeps text as {encoding}, which cannot hold every character",
            hint="recreate it with `createdb --template=template0 --encoding=UTF8`",
        )
    return database


def _read_url(text: str) -> URL:
    # `from None`: the error may have the password in its message.
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() not in _SCHEMES:
        raise UsageError(
            "The database is not a PostgreSQL URL",
            hint="write `postgresql://user:password@host:5432/name`, special characters as %XX",
        ) from None
    return url


def _name(url: URL) -> str:
    """The parts of a URL that may be shown."""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database or ''}"


def _make_engine(url: URL) -> Engine:
    options = dict(url.query)
    limits = " ".join(f"-c {name}={value}" for name, value in _LIMITS.items())
    # The last of two equal settings wins: that of the URL.
    options["options"] = f"{limits} {options.get('options', '')}".strip()
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg", query={}),
            connect_args=_ARGUMENTS | options,
            pool_size=5,
            max_overflow=15,
            pool_timeout=10,
            hide_parameters=True,
        )
    except ImportError as error:
        raise UsageError(
            f"PostgreSQL cannot be used here: {error}",
            hint=f"install the extra: `{install_command('hub')}`",
        ) from error
    engine.dialect.type_compiler_instance = BytewiseText(engine.dialect)
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _record: Any) -> None:
    # The driver would begin each transaction itself, a round trip before ours.
    connection.autocommit = True


def _bytewise(text: str, kwargs: dict[str, Any]) -> str:
    """The type with its collation, where the definition of a column needs it."""
    return f'{text} COLLATE "C"' if isinstance(kwargs.get("type_expression"), Column) else text


def _reason(error: DBAPIError) -> str:
    """The server's own first line, which contains no values; else the driver's message."""
    diagnosis = getattr(error.orig, "diag", None)
    return getattr(diagnosis, "message_primary", None) or " ".join(str(error.orig).split())
