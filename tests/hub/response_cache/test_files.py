"""Files that the server sends by their path, without the application being asked again."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from tests.helpers.serving import serve
from tests.helpers.storage import ON_S3, storage_of
from tests.hub.pushing import HUB, Push, data, open_app, sha256
from tests.hub.response_cache.test_middleware import Hub
from tests.hub.routes.test_package_index import basic, bearer, key_of
from tests.hub.test_ways_of_sending import PathServer

pytestmark = pytest.mark.skipif(ON_S3, reason="it is about the files on the disk")


class Files:
    """A hub where Ada has published `word`, on a server that sends files by their path."""

    def __init__(self, folder: Path) -> None:
        self.owner = open_app(folder)
        self.push = Push(self.owner, code="x = 1").run()
        self.hub = Hub(folder)
        self.server = PathServer(self.hub.app)
        self.url = f"/files/ada/word/{sha256(self.push.wheel)}/{self.push.wheel_filename}"
        self.blob = storage_of(folder).local_path(sha256(self.push.wheel)) or Path()

    @contextmanager
    def client(self) -> Iterator[TestClient]:
        """Somebody without a key, who has fetched the wheel already."""
        app, url = self.server, "http://hub.local"
        with TestClient(app, base_url=url, follow_redirects=False) as client:
            assert client.get(self.url).content == self.push.wheel
            yield client

    @property
    def asked(self) -> int:
        """How many requests the application was asked."""
        return self.hub.inside.count


@pytest.fixture
def files(folder: Path) -> Files:
    return Files(folder)


def test_application_is_asked_once_for_a_file(files: Files) -> None:
    with files.client() as client:
        first = client.get(files.url, headers={"cookie": "a=b"})
        before = files.asked
        answers = [client.get(files.url) for _ in range(5)]
    assert {answer.content for answer in answers} == {files.push.wheel}
    assert all(answer.headers == first.headers for answer in answers)
    assert len(files.server.sent) == 7
    assert files.asked == before


@pytest.mark.parametrize("tag", ["", "{}", 'W/"other", W/{}', "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_ready_file_is_reported_like_by_the_application(
    files: Files, method: str, tag: str
) -> None:
    known = {"if-none-match": tag.format(f'"{sha256(files.push.wheel)}"')} if tag else {}
    with files.client() as client:
        ready = client.request(method, files.url, headers=known)
        assert files.asked == 1
        made = client.request(method, files.url, headers={**known, "cookie": "a=b"})
    assert ready.status_code == made.status_code == (304 if tag else 200)
    assert (ready.headers, ready.content) == (made.headers, made.content)


def test_part_of_a_file_is_sent_by_the_application(files: Files) -> None:
    with files.client() as client:
        part = client.get(files.url, headers={"range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, files.push.wheel[2:6])
    assert files.asked == 2


def hide(files: Files) -> None:
    Push(files.owner).change_visibility("PRIVATE")


def delete_version(files: Files) -> None:
    Push(files.owner, version="0.2.0").run()
    data(files.owner.delete(f"{HUB}/ada/word/@{files.push.content_hash}"))


def delete_environment(files: Files) -> None:
    data(files.owner.delete(f"{HUB}/ada/word"))


def delete_and_make_anew(files: Files) -> None:
    delete_environment(files)
    Push(files.owner, version="0.2.0").run()


GONE = (hide, delete_version, delete_environment, delete_and_make_anew)


@pytest.mark.parametrize("change", GONE)
def test_next_request_sees_that_a_file_is_gone(
    files: Files, folder: Path, change: Callable[[Files], None]
) -> None:
    wrong = basic("ada", "wrong")
    with files.client() as client:
        change(files)
        assert client.get(files.url).status_code == 404
        assert client.head(files.url).status_code == 404
        known = {"if-none-match": f'"{sha256(files.push.wheel)}"'}
        assert client.get(files.url, headers=known).status_code == 404
        assert client.get(files.url, headers=wrong).status_code == 401
        seen = client.get(files.url, headers=bearer(key_of(folder, "ada"))).status_code
    assert seen == (200 if change is hide else 404)


def test_private_file_is_never_kept(files: Files, folder: Path) -> None:
    with files.client() as client:
        hide(files)
        for _ in range(2):
            mine = client.get(files.url, headers=bearer(key_of(folder, "ada")))
            assert mine.content == files.push.wheel
        assert client.get(files.url).status_code == 404


def test_yanked_file_is_still_sent(files: Files) -> None:
    with files.client() as client:
        data(files.owner.post(f"{HUB}/ada/word/@0.1.0/yank", json={"reason": "why"}))
        assert client.get(files.url).content == files.push.wheel


def test_change_elsewhere_leaves_a_file_ready(files: Files) -> None:
    with files.client() as client:
        Push(files.owner, "chess").run()
        assert client.get(files.url).content == files.push.wheel
    assert files.asked == 1


def test_lost_or_cut_bytes_are_left_to_the_application(files: Files) -> None:
    with files.client() as client:
        files.blob.write_bytes(files.push.wheel[:-1])
        assert client.get(files.url).headers["content-length"] == str(len(files.push.wheel) - 1)
        assert files.asked == 2
        files.blob.unlink()
        assert client.get(files.url).status_code == 404
        assert client.head(files.url).status_code == 404
        files.blob.write_bytes(files.push.wheel)
        assert client.get(files.url).content == files.push.wheel


def test_address_with_a_query_is_not_kept(files: Files) -> None:
    with files.client() as client:
        assert client.get(f"{files.url}?x=1").content == files.push.wheel
        assert client.get(f"{files.url}?x=1").content == files.push.wheel
    assert len(files.hub.pages.cache) == 1


def test_server_that_sends_no_paths_gets_blocks(folder: Path) -> None:
    files = Files(folder)
    with files.hub.client() as client:
        for _ in range(2):
            assert client.get(files.url).content == files.push.wheel
    assert files.asked == 2
    assert len(files.hub.pages.cache) == 0


def test_ready_files_are_logged_and_counted_as_served(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub:
        with hub.client() as owner:
            push = Push(owner, code="# " + "x" * 1_000_000).run()
            url = data(owner.get(f"{HUB}/admin/word/@latest"))["wheel_url"]
        with hub.client(key="") as client:
            answers = [client.get(url) for _ in range(4)]
            head, numbers = client.head(url), client.get("/metrics").text
    assert {answer.content for answer in answers} == {push.wheel}
    route = 'route="/files/{owner}/{name}/{sha256}/{filename}",status="200"'
    assert f'prime_hub_requests_total{{method="GET",{route}}} 4.0' in numbers
    assert f'prime_hub_requests_total{{method="HEAD",{route}}} 1.0' in numbers
    asked = [*answers, head]
    assert [line["bytes"] for line in lines_of(hub.err, url)] == [len(push.wheel)] * 4 + [0]
    ids = [answer.headers["x-request-id"] for answer in asked]
    assert [line["request_id"] for line in lines_of(hub.err, url)] == ids


def lines_of(log: Path, url: str) -> list[dict[str, object]]:
    """The lines of the access log about an address."""
    path = httpx.URL(url).path
    lines = [
        json.loads(line)
        for line in log.read_text(encoding="utf-8").splitlines()
        if line.startswith("{")
    ]
    return [line for line in lines if line["path"] == path]
