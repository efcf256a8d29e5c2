from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import versions
from prime_cli.hub.downloads import DownloadCounts, SentFile
from prime_cli.hub.services.environment_creation import fork
from prime_cli.wire.environments import ForkRequest
from tests.helpers.storage import files_only
from tests.hub.accounts_hub import Clock
from tests.hub.pushing import HUB, Push, data, open_app

_OF_TEAM = Caller("bob", reads=frozenset({"bob"}), writes=frozenset({"bob"}))


@pytest.fixture
def push(client: httpx.Client) -> Push:
    return Push(client).run()


@pytest.fixture
def url(push: Push) -> str:
    return str(data(push.client.get(f"{HUB}/ada/word/@latest"))["wheel_url"])


def downloads(client: httpx.Client, sort: str = "downloads") -> dict[str, int]:
    """How often each environment was downloaded, in the order of the list."""
    listed = client.get(f"{HUB}/?sort_by={sort}").raise_for_status().json()["data"]
    return {each["name"]: each["downloads"] for each in listed}


def test_wheel_and_source_archive_count_and_their_index_does_not(push: Push, url: str) -> None:
    client = push.client
    sources = data(client.get(f"{HUB}/ada/word/@latest"))["package_url"]
    client.get(url).raise_for_status()
    client.get(sources).raise_for_status()
    client.get(f"{url}.metadata").raise_for_status()
    client.get("/ada/simple/word/").raise_for_status()
    assert downloads(client) == {"word": 2}


def test_what_sends_no_file_from_its_beginning_does_not_count(push: Push, url: str) -> None:
    client = push.client
    client.head(url).raise_for_status()
    etag = client.get(url).headers["etag"]
    assert client.get(url, headers={"if-none-match": etag}).status_code == 304
    assert client.get(url.replace("word-0", "gone-0")).status_code == 404
    assert downloads(client) == {"word": 1}


@files_only
def test_interrupted_download_counts_once(push: Push, url: str) -> None:
    push.client.get(url, headers={"range": "bytes=0-9"})
    push.client.get(url, headers={"range": "bytes=10-"})
    assert downloads(push.client) == {"word": 1}


def test_list_by_downloads_begins_with_the_most(client: httpx.Client) -> None:
    for name, times in (("few", 1), ("most", 3), ("none", 0), ("some", 2)):
        Push(client, name=name).run()
        link = data(client.get(f"{HUB}/ada/{name}/@latest"))["wheel_url"]
        for _ in range(times):
            client.get(link)
    assert list(downloads(client).items()) == [("most", 3), ("some", 2), ("few", 1), ("none", 0)]


def test_fork_begins_with_no_downloads(push: Push, url: str) -> None:
    push.client.get(url)
    fork(_hub(push.client), _OF_TEAM, EnvRef("ada", "word"), ForkRequest(team_slug="bob"))
    with _hub(push.client).database.read() as connection:
        counted = select(versions.c.downloads).order_by(versions.c.downloads)
        assert connection.execute(counted).scalars().all() == [0, 1]


def test_counts_of_what_was_deleted_meanwhile_are_left_out(push: Push) -> None:
    counts = DownloadCounts(_hub(push.client))
    counts.add(SentFile("ada", "gone", "0" * 64))
    counts.add(SentFile("nobody", "word", "0" * 64))
    counts.flush()
    assert not counts.is_due
    assert downloads(push.client) == {"word": 0}


def test_served_hub_writes_counts_once_a_second(tmp_path: Path) -> None:
    clock = Clock()
    counts = DownloadCounts(_hub(open_app(tmp_path, embedded=False, clock=clock)))
    download = SentFile("ada", "word", "0" * 64)
    due = []
    for seconds in (0, 0, 1):
        clock.wait(seconds=seconds)
        counts.add(download)
        due.append(counts.is_due)
        if due[-1]:
            counts.flush()
    assert due == [True, False, True]


def _hub(client: httpx.Client) -> Hub:
    hub: Hub = client._transport.app.state.hub  # type: ignore[attr-defined]
    return hub
