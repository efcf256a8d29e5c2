import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, insert, select, text, update
from sqlalchemy.pool import NullPool, QueuePool

from prime_cli.core.errors import Conflict, StorageFailed, Unreachable, UsageError
from prime_cli.hub.context import open_database
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.sqlite import SqliteDatabase, open_sqlite
from prime_cli.hub.db.tables import counters, owners

ADA = {"id": "user_1", "slug": "ada", "type": "user", "created_at": ""}


def test_failed_block_writes_nothing(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute(owners.insert().values(ADA))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with database.read() as connection:
        assert connection.execute(owners.select()).all() == []


def test_reader_sees_one_moment_while_someone_writes(database: Database) -> None:
    with database.read() as reader:
        assert reader.execute(owners.select()).all() == []
        with database.write() as writer:
            writer.execute(owners.insert().values(ADA))
        assert reader.execute(owners.select()).all() == []


def test_writers_that_look_before_they_write_lose_nothing(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(counters).values(name="n", value=0))

    def raise_by_one(_: int) -> None:
        with database.write() as connection:
            seen = connection.execute(select(counters.c.value)).scalar_one()
            connection.execute(update(counters).values(value=seen + 1))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(raise_by_one, range(80)))
    with database.read() as connection:
        assert connection.execute(select(counters.c.value)).scalar_one() == 80


def test_broken_constraint_is_a_conflict(database: Database) -> None:
    twice = [ADA, ADA | {"id": "user_2"}]
    with pytest.raises(Conflict), database.write() as connection:
        connection.execute(owners.insert(), twice)


def test_rows_added_by_two_at_once_are_there_once(database: Database) -> None:
    both_ready = threading.Barrier(2)

    def add(_: int) -> bool:
        both_ready.wait(60)
        try:
            with database.write(alone=False) as connection:
                connection.execute(owners.insert().values(ADA))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(add, range(2))) == [False, True]


@pytest.mark.parametrize("slug", ["a\0b", "\0", "\ud800"], ids=["nul", "only-nul", "surrogate"])
def test_text_that_cannot_be_kept_is_refused(database: Database, slug: str) -> None:
    with pytest.raises(UsageError), database.read() as connection:
        connection.execute(owners.select().where(owners.c.slug == slug))
    with pytest.raises(UsageError), database.write() as connection:
        connection.execute(owners.insert(), [ADA, ADA | {"id": "user_2", "slug": slug}])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200])
def test_number_that_cannot_be_kept_is_refused(database: Database, number: int) -> None:
    with pytest.raises(UsageError), database.write() as connection:
        connection.execute(insert(counters).values(name="n", value=number))
    with pytest.raises(UsageError), database.read() as connection:
        connection.execute(owners.select().limit(number))


@given(names=st.sets(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_names_sort_and_compare_by_their_bytes(
    both: tuple[Database, Database], names: set[str]
) -> None:
    rows = [{"name": name, "value": 0} for name in names]
    expected = sorted(names, key=str.encode)
    middle = expected[len(expected) // 2] if expected else ""
    behind = select(counters.c.name).where(counters.c.name > middle).order_by(counters.c.name)
    for database in both:
        with database.write() as connection:
            connection.execute(counters.delete())
            if rows:
                connection.execute(insert(counters), rows)
            seen = connection.execute(select(counters.c.name).order_by(counters.c.name)).scalars()
            assert list(seen) == expected
            assert list(connection.execute(behind).scalars()) == [
                name for name in expected if name.encode() > middle.encode()
            ]


@pytest.mark.parametrize(
    ("part", "found"),
    [("STRASSE", ["strasse"]), ("straße", ["Straße"]), ("É", ["É"]), ("50%", ["50%"])],
)
def test_words_are_found_in_any_case_of_ascii(
    database: Database, part: str, found: list[str]
) -> None:
    names = ["strasse", "Straße", "É", "é", "50%", "500"]
    with database.write() as connection:
        connection.execute(insert(counters), [{"name": name, "value": 0} for name in names])
        seen = connection.execute(
            select(counters.c.name).where(counters.c.name.icontains(part, autoescape=True))
        )
        assert seen.scalars().all() == found


def test_connections_that_are_all_in_use_are_reported(tmp_path: Path) -> None:
    engine = create_engine(
        f"sqlite:///{tmp_path / 'hub.db'}", poolclass=QueuePool, pool_size=1, max_overflow=0,
        pool_timeout=0.01,
    )  # fmt: skip
    database = SqliteDatabase(engine, "hub.db")
    with (
        database.read(),
        pytest.raises(Unreachable, match="in use"),
        database.read(),
    ):
        pass


def test_full_disk_is_a_storage_failure(tmp_path: Path) -> None:
    database = open_database(tmp_path / "hub.db")
    many = [ADA | {"id": str(number), "slug": f"{number}" * 99} for number in range(1000)]
    with database.read() as connection:
        connection.execute(text("PRAGMA max_page_count = 1"))
    with pytest.raises(StorageFailed, match="disk is full"), database.write() as connection:
        connection.execute(owners.insert(), many)


def test_read_only_file_is_a_storage_failure(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    open_database(path)
    engine = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=NullPool)
    with (
        pytest.raises(StorageFailed, match="cannot be written"),
        SqliteDatabase(engine, str(path)).write() as connection,
    ):
        connection.execute(owners.insert().values(ADA))


def test_missing_folder_is_a_storage_failure(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageFailed, match="cannot be written"),
        open_sqlite(tmp_path / "nowhere" / "hub.db").read() as connection,
    ):
        connection.execute(owners.select())
