"""A real PostgreSQL for tests: in a folder of its own, on a Unix socket, with this user's trust."""

import atexit
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from prime_cli.hub.context import open_database
from tests.helpers.tools import ON_CI

_RUNNING = "PRIME_TEST_POSTGRES"
"""Where the server of this test process is, for the processes that a test starts."""
_TEMPLATE = "prime_template"
_OLDEST = 15
# Names sort as people expect, unlike bytes: what relies on the database's own order shows.
_INITDB = "--auth=trust --username=prime --encoding=UTF8 --no-sync --locale=C.UTF-8 "
_INITDB += "--locale-provider=icu --icu-locale=en-US"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
}


# Every change of tables, indexes or constraints makes a row of these anew; rows of hubs do not.
_SHAPE = """
SELECT (SELECT sum(xmin::text::bigint) FROM pg_class),
  (SELECT sum(xmin::text::bigint) FROM pg_attribute),
  (SELECT sum(xmin::text::bigint) FROM pg_constraint),
  (SELECT string_agg(version_num, ',') FROM alembic_version)
"""
# Deleting what a test has written takes 5 ms; `TRUNCATE` would make 200 new files.
_EMPTY = """
DO $$ DECLARE written text; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR written IN SELECT oid::regclass FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
      AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0
  LOOP EXECUTE 'DELETE FROM ' || written; END LOOP;
  PERFORM setval(oid::regclass, 1, false) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'S';
END $$
"""
_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Postgres:
    """A running server whose socket is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shape: tuple[object, ...] | None = None
        """What the database of a hub is, but for its rows; known where the template was made."""
        self._spare: list[str] = []
        """Databases of hubs that are empty and wait for a name."""

    def url(self, database: str) -> str:
        """As `--database` takes it."""
        return f"postgresql://prime@/{database}?host={self.folder}"

    def execute(self, statement: str, *names: str) -> list[tuple[object, ...]]:
        """Run one statement as the superuser; each `{}` is one of `names`."""
        filled = sql.SQL(statement).format(*map(sql.Identifier, names))
        with self._connect("postgres") as connection:
            cursor = connection.execute(filled)
            return cursor.fetchall() if cursor.description else []

    def create(self, database: str, template: str = _TEMPLATE) -> str:
        """The URL of a database that is made unless it is there: a hub's, empty, or like any."""
        with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            self.execute("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", database, template)
        return self.url(database)

    def create_hub(self, database: str) -> str:
        """As `create` for a hub; takes one that was given back, which is 10 MB less to copy."""
        if not self._spare:
            return self.create(database)
        spare = self._spare.pop()
        try:
            self.execute("ALTER DATABASE {} RENAME TO {}", spare, database)
        except psycopg.errors.DuplicateDatabase:
            self._spare.append(spare)
        except psycopg.errors.ObjectInUse:  # a hub of an earlier test has come back to it
            self.drop(spare)
            return self.create(database)
        return self.url(database)

    def make_template(self) -> None:
        """Make the database of which those of hubs are copies."""
        open_database(self.create(_TEMPLATE, "template0")).engine.dispose()
        with self._connect(_TEMPLATE) as connection:
            self._shape = _find_shape(connection)

    def give_back(self, database: str) -> None:
        """Empty the database of a hub for the next one; remove it if more than rows changed."""
        with self._connect(database) as connection:
            connection.execute(_END_OTHERS)
            is_same = self._shape is not None and _find_shape(connection) == self._shape
            if is_same:
                connection.execute(_EMPTY)
        if is_same:
            self._spare.append(database)
        else:
            self.drop(database)

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected."""
        self.execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", database)

    def _connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url(database), autocommit=True, connect_timeout=2)


class OwnServer(Postgres):
    """A server that is ours to stop and start; it ends with this process, even if killed."""

    def __init__(self) -> None:
        self._binaries = require_binaries()
        super().__init__(Path(tempfile.mkdtemp(prefix="prime-postgres-")))
        self._user = _account()
        if self._user:
            shutil.chown(self.folder, *self._user)
        self._run("initdb", "-D", str(self.folder / "data"), *_INITDB.split()).wait(180)
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        data = str(self.folder / "data")
        self._process = self._run("postgres", "-D", data, "-k", str(self.folder), *settings)
        deadline = time.monotonic() + 120
        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Break all connections and end the server."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(120)

    def close(self) -> None:
        """End the server at once and remove its folder."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(120)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *args: str) -> "subprocess.Popen[bytes]":
        argv = [str(self._binaries / program), *args]
        if shutil.which("setpriv"):
            # SIGQUIT is PostgreSQL's immediate shutdown; sent when this process has died.
            prefix = ["setpriv", "--pdeathsig", "QUIT"]
            if self._user:
                user, group = self._user
                prefix += ["--reuid", user, "--regid", group, "--clear-groups"]
            argv = [*prefix, "--", *argv]
        log = (self.folder / "log").open("ab")
        with log:
            return subprocess.Popen(
                argv, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )


def require_binaries() -> Path:
    """The folder of PostgreSQL's programs; skips the test where there are none, fails on CI."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else []
    folders += [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    versions = {int(path.parent.name): path for path in folders if path.parent.name.isdigit()}
    newest = max(versions, default=0)
    if newest >= _OLDEST:
        return versions[newest]
    if folders and not versions:
        return folders[0]
    reason = f"no PostgreSQL of version {_OLDEST} or newer is installed (`postgresql` on Debian)"
    return pytest.fail(reason) if ON_CI else pytest.skip(reason)


@functools.cache
def shared_server() -> Postgres:
    """The server of this test process, or of the one that started it."""
    if running := os.environ.get(_RUNNING):
        return Postgres(Path(running))
    server = OwnServer()
    atexit.register(server.close)
    try:
        server.make_template()
    except BaseException:
        server.close()
        raise
    os.environ[_RUNNING] = str(server.folder)
    return server


@contextmanager
def fresh_database(template: str = _TEMPLATE) -> Iterator[str]:
    """The URL of a database that is there for one test; of `template0` it is empty."""
    name = f"test_{uuid.uuid4().hex[:16]}"
    server = shared_server()
    yield server.create(name, template)
    server.drop(name)


def _find_shape(connection: psycopg.Connection[tuple[object, ...]]) -> tuple[object, ...] | None:
    """None where a hub's tables are not even there."""
    with suppress(psycopg.errors.UndefinedTable):
        return connection.execute(_SHAPE).fetchone()
    return None


def _account() -> tuple[str, str] | None:
    """The user and group to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return ("postgres", "postgres") if "postgres" in names else ("nobody", "nogroup")
