from pathlib import Path

import httpx
import pytest

from tests.helpers.storage import blobs_of
from tests.hub.pushing import HUB, Push, data, names, sha256


def test_version_is_deleted_by_a_prefix_of_its_content_hash(client: httpx.Client) -> None:
    old = Push(client).run()
    new = Push(client, version="0.2.0", metadata={"description": "New"}).run()
    data(client.delete(f"{HUB}/ada/word/@{new.content_hash[:8]}"))
    status = data(client.get(f"{HUB}/ada/word/status"))
    assert status["latest_version"]["content_hash"] == old.content_hash
    assert status["description"] == "Words"


def test_deleting_the_last_version_hides_the_environment(client: httpx.Client) -> None:
    push = Push(client).run()
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    assert names(client) == []
    push.run()
    assert names(client) == ["word"]


def test_bytes_stay_while_another_environment_has_them(client: httpx.Client) -> None:
    push = Push(client).run()
    other = Push(client, name="other")
    other.sources = push.sources
    other.run()
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    detail = data(client.get(f"{HUB}/ada/other/@latest"))
    assert sha256(client.get(detail["package_url"]).content) == sha256(push.sources)


@pytest.mark.parametrize(
    ("published", "latest"),
    [
        (("1.0", "2.0", "1.0.1"), "2.0"),
        (("0.9", "0.10"), "0.10"),
        (("1.0", "2.0rc1", "2.0.dev3"), "1.0"),
        (("1.0a1", "1.0a2.post1", "1.0a2"), "1.0a2.post1"),
        (("1.0", "1!0.1"), "1!0.1"),
    ],
)
def test_latest_is_the_highest_stable_version_whatever_is_published_last(
    client: httpx.Client, published: tuple[str, ...], latest: str
) -> None:
    for number, version in enumerate(published):
        description = f"of {version}"
        Push(client, version=version, code=str(number), metadata={"description": description}).run()
    detail = data(client.get(f"{HUB}/ada/word/@latest"))
    (listed,) = client.get(f"{HUB}/", params={"owner": "ada"}).json()["data"]
    status = data(client.get(f"{HUB}/ada/word/status"))
    assert detail["semantic_version"] == listed["latest_version"] == latest
    assert listed["description"] == status["description"] == f"of {latest}"
    assert status["latest_version"]["semantic_version"] == latest
    versions = [
        each["version"] for each in data(client.get(f"{HUB}/ada/word/versions"))["versions"]
    ]
    assert versions == list(reversed(published))


@pytest.mark.parametrize(("prefix", "status"), [("abc", 422), ("0" * 12, 404)])
def test_prefix_that_names_no_version_deletes_nothing(
    client: httpx.Client, prefix: str, status: int
) -> None:
    Push(client).run()
    assert client.delete(f"{HUB}/ada/word/@{prefix}").status_code == status
    assert names(client) == ["word"]


def test_prefix_of_two_versions_deletes_neither(client: httpx.Client) -> None:
    for number, version in enumerate(("0.1.0", "0.2.0")):
        push = Push(client, version=version)
        push.content_hash = f"aaaaaaaa{number}"
        push.run()
    assert client.delete(f"{HUB}/ada/word/@aaaaaaaa").status_code == 409
    assert len(data(client.get(f"{HUB}/ada/word/versions"))["versions"]) == 2


def test_wildcard_is_not_a_prefix(client: httpx.Client) -> None:
    Push(client).run()
    assert client.delete(f"{HUB}/ada/word/@a_______a").status_code == 404


def test_files_of_a_deleted_version_are_gone(client: httpx.Client, folder: Path) -> None:
    push = Push(client).run()
    url = data(client.get(f"{HUB}/ada/word/@latest"))["wheel_url"]
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    assert client.get(url).status_code == 404
    assert not (folder / "simple" / "ada" / "word").exists()
    assert blobs_of(folder) == []
