"""Hubs of several processes, shared by the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.helpers.postgres import fresh_database
from tests.helpers.s3 import BUCKET, S3Server, s3_server
from tests.helpers.serving import serve
from tests.hub.faults.shared_hub import SharedHub

__all__ = ["s3_server"]

_UNLIMITED = ("--rate-limit", "0")


@pytest.fixture(scope="package")
def pair(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> Iterator[SharedHub]:
    """Two servers, each with a data folder of its own, on one PostgreSQL and one bucket."""
    folder = tmp_path_factory.mktemp("pair")
    with fresh_database("template0") as database:
        argv = ("--database", database, "--storage", f"s3://{BUCKET}/pair", *_UNLIMITED)
        env = s3_server.environ
        with (
            serve(folder / "a", *argv, env=env) as a,
            serve(folder / "b", *argv, env=env) as b,
            SharedHub(a.key, (a.url, b.url)) as hub,
        ):
            yield hub


@pytest.fixture(scope="package")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedHub]:
    """Two processes behind one port, on SQLite and files."""
    data = tmp_path_factory.mktemp("workers") / "hub"
    with (
        serve(data, "--workers", "2", *_UNLIMITED) as served,
        SharedHub(served.key, (served.url, served.url)) as hub,
    ):
        yield hub
