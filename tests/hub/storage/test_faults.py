"""A hub whose bucket fails: clear answers, nothing half-published, and the next try succeeds."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from prime_cli.core.errors import PrimeError, StorageFailed, Unreachable
from prime_cli.hub.storage.s3 import Patience, S3Storage, open_bucket
from tests.helpers.faults import SECRET_IN_ANSWERS, Fault, FaultyProxy, run_faulty
from tests.helpers.s3 import BUCKET, S3Server, aws_variables
from tests.hub.pushing import HUB, Push, data, names, open_app

pytestmark = pytest.mark.slow

ANSWERS: list[tuple[Fault, int]] = [("500", 507), ("403", 507), ("cut", 503), ("silent", 503)]
MEBIBYTE = 1024 * 1024


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyProxy]:
    with run_faulty(s3_server.url) as proxy:
        yield proxy


@pytest.fixture
def faulty(proxy: FaultyProxy, tmp_path: Path) -> S3Storage:
    """The bucket behind the proxy, with the patience of a test."""
    location = f"s3://{BUCKET}/faults/{tmp_path.name}"
    patience = Patience(connect=5, request=3, retries=1)
    return open_bucket(location, aws_variables(proxy.url), patience)


@pytest.fixture
def hub(folder: Path, faulty: S3Storage) -> httpx.Client:
    return open_app(folder, storage=faulty)


def check_told(answer: httpx.Response, status: int) -> None:
    """One sentence that names the bucket, and no key."""
    assert answer.status_code == status, answer.text
    assert BUCKET in answer.json()["detail"]
    assert SECRET_IN_ANSWERS not in answer.text
    assert "secret-of-the-tests" not in answer.text


@pytest.mark.parametrize(("fault", "status"), ANSWERS)
def test_upload_that_the_bucket_does_not_take_is_sent_again(
    hub: httpx.Client, folder: Path, proxy: FaultyProxy, fault: Fault, status: int
) -> None:
    push = Push(hub)
    push.begin()
    url = data(push.declare_wheel())["upload_url"]
    proxy.fail(fault)
    check_told(hub.put(url, content=push.wheel), status)
    proxy.heal()
    assert list((folder / "incoming").iterdir()) == []
    assert names(hub) == []
    push = Push(hub).run()
    assert hub.get(data(hub.get(f"{HUB}/ada/word/@latest"))["wheel_url"]).content == push.wheel


@pytest.mark.parametrize(("fault", "status"), [*ANSWERS, ("half", 503)])
def test_version_whose_bytes_cannot_be_read_is_not_published(
    hub: httpx.Client, proxy: FaultyProxy, fault: Fault, status: int
) -> None:
    push = Push(hub)
    push.begin()
    push.push_wheel()
    version = push.push_sources()
    proxy.fail(fault, lambda method, _path: method in {"GET", "HEAD"})
    check_told(push.finalize("versions", version), status)
    proxy.heal()
    assert names(hub) == []
    assert data(push.finalize("versions", version))["success"]
    assert names(hub) == ["word"]


@pytest.mark.parametrize(("fault", "status"), [*ANSWERS, ("half", 503)])
def test_download_says_that_the_bucket_failed(
    hub: httpx.Client, proxy: FaultyProxy, fault: Fault, status: int
) -> None:
    push = Push(hub).run()
    url = data(hub.get(f"{HUB}/ada/word/@latest"))["wheel_url"]
    proxy.fail(fault, lambda method, _path: method == "GET")
    check_told(hub.get(url), status)
    proxy.heal()
    assert hub.get(url).content == push.wheel


def test_deletion_does_not_wait_for_a_bucket_that_fails(
    hub: httpx.Client, proxy: FaultyProxy, faulty: S3Storage, caplog: pytest.LogCaptureFixture
) -> None:
    Push(hub).run()
    proxy.fail("500", lambda method, _path: method == "DELETE")
    data(hub.delete(f"{HUB}/ada/word"))
    assert names(hub) == []
    assert len(list(faulty.list())) == 2
    assert "left for `prime hub gc`: The bucket" in caplog.text


def test_download_that_fails_in_the_middle_is_never_taken_for_whole(
    hub: httpx.Client, proxy: FaultyProxy
) -> None:
    push = Push(hub, code="# " + "x" * 3 * MEBIBYTE).run()
    url = data(hub.get(f"{HUB}/ada/word/@latest"))["wheel_url"]
    with hub.stream("GET", url) as answer:
        blocks = answer.iter_raw()
        next(blocks)
        proxy.fail("500")
        with pytest.raises(PrimeError):
            list(blocks)
    proxy.heal()
    assert hub.get(url).content == push.wheel


@pytest.mark.parametrize("fault", ["500", "cut"])
def test_part_that_fails_leaves_no_object_and_no_parts(
    faulty: S3Storage, proxy: FaultyProxy, tmp_path: Path, fault: Fault
) -> None:
    content = bytes(12 * MEBIBYTE)
    digest = hashlib.sha256(content).hexdigest()
    incoming = tmp_path / "incoming"
    incoming.write_bytes(content)
    proxy.fail(fault, lambda method, path: method == "PUT" and "partNumber=2" in path)
    with pytest.raises((StorageFailed, Unreachable)):
        faulty.put(incoming, digest)
    assert incoming.exists()
    assert faulty.size(digest) is None
    aborted = [path for method, path in proxy.seen if method == "DELETE" and "uploadId" in path]
    assert len(aborted) == 1
    proxy.heal()
    faulty.put(incoming, digest)
    assert faulty.size(digest) == len(content)


def test_end_of_an_upload_whose_answer_is_lost_is_found_out(
    faulty: S3Storage, proxy: FaultyProxy, tmp_path: Path
) -> None:
    content = bytes(6 * MEBIBYTE)
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / "incoming").write_bytes(content)
    ends: list[str] = []

    def first_end(method: str, path: str) -> bool:
        if method == "POST" and "uploadId" in path:
            ends.append(path)
            return len(ends) == 1
        return False

    proxy.fail("lost", first_end)
    faulty.put(tmp_path / "incoming", digest)
    assert len(ends) == 2
    assert faulty.size(digest) == len(content)


def test_bucket_without_a_server_gives_no_answer(tmp_path: Path) -> None:
    variables = aws_variables("http://127.0.0.1:1")
    storage = open_bucket("s3://nobody-home", variables, Patience(retries=1))
    incoming = tmp_path / "incoming"
    incoming.write_bytes(b"word")
    digest = "ab" + "0" * 62
    with pytest.raises(Unreachable, match="nobody-home does not answer"):
        storage.put(incoming, digest)
    for ask in (storage.size, storage.open, storage.delete):
        with pytest.raises(Unreachable):
            ask(digest)
    with pytest.raises(Unreachable):
        list(storage.list())


def test_failure_that_passes_is_not_noticed(
    faulty: S3Storage, proxy: FaultyProxy, tmp_path: Path
) -> None:
    (tmp_path / "incoming").write_bytes(b"word")
    failed = False

    def first(_method: str, _path: str) -> bool:
        nonlocal failed
        failed, now = True, not failed
        return now

    proxy.fail("500", first)
    faulty.put(tmp_path / "incoming", "ab" + "0" * 62)
    assert faulty.size("ab" + "0" * 62) == 4
