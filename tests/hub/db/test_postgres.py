import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from prime_cli.core.errors import StorageFailed, Unreachable, UsageError
from prime_cli.hub.context import open_database
from prime_cli.hub.db.postgres import open_postgres
from prime_cli.hub.db.tables import counters
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.settings import HubSettings
from tests.helpers.postgres import fresh_database, shared_server

SECRET = "hunter2"


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


def test_every_text_has_the_collation_of_bytes(url: str) -> None:
    others = text(
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " JOIN pg_collation o ON o.oid = a.attcollation"
        " WHERE c.relnamespace = 'public'::regnamespace AND o.collname <> 'C'"
    )
    with open_database(url).read() as connection:
        assert connection.execute(others).all() == []


def test_other_spelling_and_options_of_a_url_are_understood(url: str) -> None:
    spelled = url.replace("postgresql://", "postgres://") + "&options=-c%20lock_timeout%3D7s"
    with open_database(spelled).read() as connection:
        shown = [
            connection.execute(text(f"SHOW {name}")).scalar_one()
            for name in ("lock_timeout", "statement_timeout", "application_name")
        ]
    assert shown == ["7s", "30s", "prime-hub"]


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://ada:{SECRET}@127.0.0.1/hub",
        f"postgresql://ada:{SECRET}@127.0.0.1:{SECRET}/hub",
        f"postgresql://ada:{SECRET}@[::1/hub",
        f"ada:{SECRET}",
        "",
    ],
)
def test_text_that_is_not_a_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_database(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{SECRET}@127.0.0.1:1/hub",
        f"postgresql://ada@127.0.0.1:1/hub?password={SECRET}",
        f"postgresql://ada:{SECRET}@127.0.0.1:1/hub?no_such_option={SECRET}",
    ],
)
def test_password_is_in_no_message(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with pytest.raises(Unreachable) as caught:
        open_database(url)
    assert caught.value.message.startswith("postgresql://127.0.0.1:1/hub cannot be reached: ")
    assert caught.value.exit_code == 5
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + caplog.text


def test_password_is_in_no_repr(url: str) -> None:
    database = open_database(url.replace("prime@", f"prime:{SECRET}@") + f"&password={SECRET}")
    engine = database.engine
    assert SECRET not in f"{database!r} {engine!r} {engine.url!r} {engine.pool!r} {database.name}"


def test_settings_do_not_show_the_url(tmp_path: Path) -> None:
    url = f"postgresql://ada:{SECRET}@127.0.0.1/hub"
    assert SECRET not in repr(HubSettings(data=tmp_path, owner="ada", database=url))
    assert SECRET not in repr(ServeOptions(data=tmp_path, database=url))


def test_failed_statement_does_not_show_its_values(url: str) -> None:
    with (
        pytest.raises(StorageFailed) as caught,
        open_database(url).write() as connection,
    ):
        connection.execute(text("SELECT no_such_function(:value)"), {"value": SECRET})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_database_that_cannot_hold_every_character_is_refused() -> None:
    server = shared_server()
    server.execute(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc"
    )
    with pytest.raises(StorageFailed, match="LATIN1"):
        open_postgres(server.url("latin"))
    server.drop("latin")


def test_a_user_without_permission_to_create_tables_is_told_so() -> None:
    with fresh_database("template0") as url:
        shared_server().execute("CREATE ROLE {} LOGIN", "guest")
        with pytest.raises(StorageFailed, match="permission denied") as caught:
            open_database(url.replace("prime@", "guest@"))
        assert "owner of the database" in str(caught.value.hint)
        shared_server().execute("DROP ROLE {}", "guest")


def test_standby_that_only_reads_is_a_storage_failure(url: str) -> None:
    database = open_database(url + "&options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StorageFailed, match="cannot be written"), database.write() as connection:
        connection.execute(counters.delete())


def test_block_that_reads_cannot_write(url: str) -> None:
    with pytest.raises(StorageFailed), open_database(url).read() as connection:
        connection.execute(counters.delete())


def test_a_waiting_writer_names_the_blocking_process(url: str) -> None:
    first, second = open_database(url), open_database(url + "&options=-c%20lock_timeout%3D20ms")
    with (
        first.write(),
        pytest.raises(StorageFailed, match="in use by another"),
        second.write(),
    ):
        pass


def test_rows_are_added_beside_someone_who_writes_alone(url: str) -> None:
    first, second = open_database(url), open_database(url + "&options=-c%20lock_timeout%3D20ms")
    with first.write():
        with second.write(alone=False) as connection:
            connection.execute(counters.insert().values(name="n", value=1))
        with second.read() as connection:
            assert connection.execute(counters.select()).all() == [("n", 1)]


def test_statement_that_takes_too_long_is_ended(url: str) -> None:
    database = open_database(url + "&options=-c%20statement_timeout%3D20ms")
    with pytest.raises(Unreachable, match="did not answer"), database.read() as connection:
        connection.execute(text("SELECT pg_sleep(10)"))


def test_of_two_that_wait_for_each_other_one_is_given_up(url: str) -> None:
    database = open_database(url + "&options=-c%20deadlock_timeout%3D20ms")
    halfway = threading.Barrier(2)

    def add(names: tuple[str, str]) -> bool:
        try:
            with database.write(alone=False) as connection:
                connection.execute(counters.insert().values(name=names[0], value=1))
                halfway.wait(60)
                connection.execute(counters.insert().values(name=names[1], value=1))
        except Unreachable:
            return False
        return True

    # Whoever is left then adds both, or meets what the other has not taken back yet.
    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(add, [("a", "b"), ("b", "a")])) == [False, True]


def test_an_exclusive_user_of_the_database_has_no_time_limit(url: str) -> None:
    limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    database = open_database(url + "&options=-c%20lock_timeout%3D20ms")
    with open_database(url).occupy() as connection:
        for limit in limits:
            assert connection.execute(text(f"SHOW {limit}")).scalar_one() == "0"
        with pytest.raises(StorageFailed, match="in use"), database.write():
            pass
