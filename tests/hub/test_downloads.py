import base64
from pathlib import Path

import httpx
import pytest

from tests.helpers.storage import files_only, storage_of
from tests.hub.pushing import HUB, Push, data, sha256


@pytest.fixture
def push(client: httpx.Client) -> Push:
    return Push(client, code="# " + "x" * 3_000_000).run()


@pytest.fixture
def url(push: Push) -> str:
    return str(data(push.client.get(f"{HUB}/ada/word/@latest"))["wheel_url"])


def test_wheel_is_streamed_in_blocks(push: Push, url: str) -> None:
    with push.client.stream("GET", url) as answer:
        blocks = list(answer.iter_raw())
    assert len(blocks) > 2
    assert b"".join(blocks) == push.wheel


def test_head_says_what_get_would_send(push: Push, url: str) -> None:
    head, get = push.client.head(url), push.client.get(url)
    assert head.content == b""
    assert head.headers == get.headers
    assert head.headers["content-length"] == str(len(push.wheel))
    assert head.headers["accept-ranges"] == "bytes"
    assert head.headers["content-type"] == "application/zip"
    digest = base64.b64encode(bytes.fromhex(sha256(push.wheel))).decode()
    assert head.headers["repr-digest"] == f"sha-256=:{digest}:"


def test_head_of_a_part_is_of_the_whole(push: Push, url: str) -> None:
    head = push.client.head(url, headers={"range": "bytes=0-9"})
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(push.wheel)))


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-9", slice(0, 10)),
        ("bytes=1500000-", slice(1500000, None)),
        ("bytes=-5", slice(-5, None)),
    ],
)
def test_part_of_a_file_is_sent_alone(push: Push, url: str, wanted: str, part: slice) -> None:
    answer = push.client.get(url, headers={"range": wanted})
    assert answer.status_code == 206
    assert answer.content == push.wheel[part]
    assert answer.headers["content-length"] == str(len(push.wheel[part]))
    assert answer.headers["content-range"].endswith(f"/{len(push.wheel)}")


def test_part_behind_the_end_is_refused(push: Push, url: str) -> None:
    answer = push.client.get(url, headers={"range": f"bytes={len(push.wheel)}-"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(push.wheel)}"


def test_part_of_another_file_is_not_sent(push: Push, url: str) -> None:
    headers = {"range": "bytes=0-9", "if-range": '"another"'}
    assert push.client.get(url, headers=headers).content == push.wheel


def test_file_that_is_known_is_not_sent_again(push: Push, url: str) -> None:
    etag = push.client.head(url).headers["etag"]
    assert etag == f'"{sha256(push.wheel)}"'
    for known in (etag, f'"other", W/{etag}', "*"):
        answer = push.client.get(url, headers={"if-none-match": known})
        assert (answer.status_code, answer.headers["etag"]) == (304, etag)
    assert push.client.get(url, headers={"if-none-match": '"other"'}).status_code == 200


@files_only
def test_download_that_is_given_up_closes_its_file(push: Push, url: str) -> None:
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        pytest.skip("no list of open files on this system")
    before = len(list(open_files.iterdir()))
    with push.client.stream("GET", url) as answer:
        next(answer.iter_raw())
    assert len(list(open_files.iterdir())) == before


def test_oldest_client_downloads_sources_outside_of_the_api(push: Push) -> None:
    answer = push.client.get("/environmentshub/ada/word/@0.1.0/download")
    assert answer.content == push.sources


def test_lost_bytes_are_not_found(push: Push, url: str, folder: Path) -> None:
    storage_of(folder).delete(sha256(push.wheel))
    assert push.client.get(url).status_code == 404
    assert push.client.head(url).status_code == 404


def test_unpublished_file_is_not_found(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    push.push_wheel()
    url = f"/files/ada/word/{sha256(push.wheel)}/{push.wheel_filename}"
    assert client.get(url).status_code == 404
