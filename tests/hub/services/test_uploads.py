from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.settings import UploadLimits
from prime_cli.hub.storage.files import FileStorage
from tests.helpers.storage import blobs_of
from tests.hub.pushing import Push, data, names, open_app, sha256


class FullDisk(FileStorage):
    """A storage that takes nothing any more."""

    def put(self, path: Path, digest: str) -> None:
        raise StorageFailed(f"The disk is full: {digest} was not written")


def started(client: httpx.Client) -> tuple[Push, str]:
    push = Push(client)
    push.begin()
    return push, str(data(push.declare_wheel())["upload_url"])


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_upload_streams_in_pieces_of_any_size(client: httpx.Client) -> None:
    push, url = started(client)
    pieces = (push.wheel[at : at + 7] for at in range(0, len(push.wheel), 7))
    assert client.put(url, content=pieces).status_code == 200


@pytest.mark.parametrize("change", [b"x", b""], ids=["longer", "cut"])
def test_bytes_other_than_declared_are_not_kept(
    client: httpx.Client, folder: Path, change: bytes
) -> None:
    push, url = started(client)
    answer = client.put(url, content=push.wheel + change if change else push.wheel[:-1])
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")
    assert blobs_of(folder) == []
    assert files_in(folder / "incoming") == []


def test_bytes_with_another_digest_are_not_kept(client: httpx.Client, folder: Path) -> None:
    push, url = started(client)
    answer = client.put(url, content=bytes(len(push.wheel)))
    assert "SHA-256" in answer.json()["detail"]
    assert blobs_of(folder) == []
    assert client.put(url, content=push.wheel).status_code == 200


def test_upload_above_the_limit_is_cut_off(folder: Path) -> None:
    client = open_app(folder, limits=UploadLimits(sources_bytes=100))
    push = Push(client)
    push.begin()
    url = data(push.declare_version())["upload_url"]
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(50)

    answer = client.put(url, content=endless())
    assert answer.status_code == 422
    assert taken == 3
    assert files_in(folder / "incoming") == []


def test_upload_that_breaks_off_leaves_nothing(client: httpx.Client, folder: Path) -> None:
    push, url = started(client)

    def broken() -> Iterator[bytes]:
        yield push.wheel[:10]
        raise httpx.ReadError("the file went away")

    with pytest.raises(httpx.ReadError):
        client.put(url, content=broken())
    assert files_in(folder / "incoming") == []


def test_unknown_upload_address_is_refused(client: httpx.Client) -> None:
    assert client.put("/upload/guess", content=b"x").status_code == 404


def test_upload_address_expires(folder: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    client = open_app(folder, clock=lambda: now)
    push, url = started(client)
    now += timedelta(hours=2)
    assert client.put(url, content=push.wheel).status_code == 404


def test_upload_address_works_once(client: httpx.Client) -> None:
    push, url = started(client)
    assert client.put(url, content=push.wheel).status_code == 200
    again = client.put(url, content=push.wheel)
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    push.run()
    assert client.put(url, content=push.wheel).status_code == 404


def test_upload_address_that_got_other_bytes_works_on(client: httpx.Client) -> None:
    push, url = started(client)
    assert client.put(url, content=push.wheel[:-1]).status_code == 422
    assert client.put(url, content=push.wheel).status_code == 200


def test_upload_address_takes_one_artefact_only(client: httpx.Client) -> None:
    push, wheel_url = started(client)
    sources_url = data(push.declare_version())["upload_url"]
    for url, content in ((wheel_url, push.sources), (sources_url, push.wheel)):
        assert client.put(url, content=content).status_code == 422
    assert client.put(wheel_url, content=push.wheel).status_code == 200
    assert client.put(sources_url, content=push.sources).status_code == 200


def test_upload_whose_answer_was_lost_is_not_sent_twice(client: httpx.Client) -> None:
    push, url = started(client)
    client.put(url, content=push.wheel)
    sources_url = data(push.declare_version())["upload_url"]
    client.put(sources_url, content=push.sources)
    # As a client does that was told nothing: everything from the start.
    assert data(push.declare_wheel())["upload_url"] is None
    assert data(push.declare_version())["upload_url"] != sources_url
    push.run()
    assert names(client) == ["word"]


def test_upload_that_began_in_time_may_end_after_it(folder: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    client = open_app(folder, clock=lambda: now)
    push, url = started(client)

    def slow() -> Iterator[bytes]:
        nonlocal now
        yield push.wheel[:10]
        now += timedelta(hours=2)
        other = Push(open_app(folder, clock=lambda: now), name="other")
        other.begin()
        other.declare_wheel()
        yield push.wheel[10:]

    assert client.put(url, content=slow()).status_code == 200
    assert client.put(url, content=push.wheel).status_code == 404
    push.run()


def test_full_disk_is_reported_in_a_sentence(folder: Path) -> None:
    push, url = started(open_app(folder, storage=FullDisk(folder / "blobs")))
    answer = push.client.put(url, content=push.wheel)
    assert (answer.status_code, answer.json()["code"]) == (507, "storage_failed")
    assert "disk is full" in answer.json()["detail"]
    assert files_in(folder / "incoming") == []


def test_abandoned_uploads_are_forgotten_with_their_bytes(folder: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    push, url = started(open_app(folder, clock=lambda: now))
    push.client.put(url, content=push.wheel)
    assert blobs_of(folder) == [sha256(push.wheel)]
    now += timedelta(days=3)
    other = Push(push.client, name="other")
    other.begin()
    other.declare_wheel()
    assert blobs_of(folder) == []
