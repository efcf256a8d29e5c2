"""What a hub does while its PostgreSQL is not there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from prime_cli.core.errors import Unreachable
from prime_cli.hub.context import open_database
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.tables import counters
from prime_cli.hub.storage.files import FileStorage
from tests.helpers.postgres import OwnServer
from tests.hub.pushing import HUB, Push, names, open_app


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that no other test uses."""
    server = OwnServer()
    yield server
    server.close()


@pytest.fixture
def url(server: OwnServer) -> Iterator[str]:
    yield server.create("lost", "template0")
    server.drop("lost")


@pytest.fixture
def database(url: str) -> Database:
    return open_database(url)


def kill_all(server: OwnServer) -> None:
    """End every connection to the database but one's own."""
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'lost'")


def add(database: Database, *names: str, then: Callable[[], None] = lambda: None) -> None:
    """Write names in one transaction, with something happening after each."""
    with database.write() as connection:
        for name in names:
            connection.execute(counters.insert().values(name=name, value=1))
            then()


def names_in(database: Database) -> list[str]:
    with database.read() as connection:
        return sorted(connection.execute(select(counters.c.name)).scalars())


class FilesOfALonelyHub(FileStorage):
    """Files, whose deletion the database does not outlive."""

    def __init__(self, root: Path, server: OwnServer) -> None:
        super().__init__(root)
        self._server = server

    def delete(self, digest: str) -> None:
        kill_all(self._server)
        super().delete(digest)


def test_connection_that_was_lost_in_the_pool_is_never_noticed(
    server: OwnServer, database: Database
) -> None:
    with database.read(), database.read(), database.read():
        pass
    kill_all(server)
    add(database, "a")
    assert names_in(database) == ["a"]


def test_block_whose_connection_is_killed_fails_and_writes_nothing(
    server: OwnServer, database: Database
) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        add(database, "a", "b", then=lambda: kill_all(server))
    add(database, "c")
    assert names_in(database) == ["c"]


def test_connection_that_is_killed_before_the_commit_fails_the_block(
    server: OwnServer, database: Database
) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        add(database, "a", then=lambda: kill_all(server))
    assert names_in(database) == []


def test_killed_writer_keeps_nobody_waiting(server: OwnServer, database: Database) -> None:
    with pytest.raises(Unreachable):
        add(database, "a", then=lambda: kill_all(server))
    add(database, "b")
    assert names_in(database) == ["b"]


def test_hub_answers_503_without_its_server_and_continues_with_it(
    server: OwnServer, url: str, tmp_path: Path
) -> None:
    client = open_app(tmp_path / "hub", database=url)
    push = Push(client).run()
    server.stop()
    for answer in (client.get(f"{HUB}/"), push.resolve(), client.delete(f"{HUB}/ada/word")):
        assert (answer.status_code, answer.json()["code"]) == (503, "unreachable")
    server.start()
    assert names(client) == ["word"]
    Push(client, version="0.2.0").run()


def test_restart_between_two_requests_is_not_noticed(
    server: OwnServer, url: str, tmp_path: Path
) -> None:
    client = open_app(tmp_path / "hub", database=url)
    server.stop()
    server.start()
    Push(client).run()
    server.stop()
    server.start()
    assert names(client) == ["word"]


def test_request_whose_connection_is_killed_is_answered_503_and_can_be_repeated(
    server: OwnServer, url: str, tmp_path: Path
) -> None:
    files = FilesOfALonelyHub(tmp_path / "blobs", server)
    client = open_app(tmp_path / "hub", database=url, storage=files)
    Push(client).run()
    answer = client.delete(f"{HUB}/ada/word")
    assert (answer.status_code, answer.json()["code"]) == (503, "unreachable")
    assert names(client) == []
    Push(client).run()
    assert names(client) == ["word"]


def test_hub_without_a_server_does_not_start(url: str, server: OwnServer, tmp_path: Path) -> None:
    server.stop()
    with pytest.raises(Unreachable, match=r"^postgresql:///lost cannot be reached: .*socket"):
        open_app(tmp_path / "hub", database=url)
    server.start()


def test_database_that_is_not_there_is_named(server: OwnServer) -> None:
    with pytest.raises(Unreachable, match=r"nowhere.* does not exist"):
        open_database(server.url("nowhere"))
