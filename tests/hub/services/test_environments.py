from pathlib import Path

import httpx
import pytest

from tests.helpers.storage import blobs_of
from tests.hub.pushing import HUB, Push, data, names, open_app, sha256


def test_detail_names_what_official_clients_read(client: httpx.Client) -> None:
    push = Push(client, metadata={"description": "Words", "tags": ["a"], "requires_dist": ["x"]})
    push.run()
    detail = data(client.get(f"{HUB}/ada/word/@latest"))
    assert detail["owner"] == {"name": "ada", "type": "user"}
    assert detail["id"] == push.environment_id
    assert detail["content_hash"] == push.content_hash
    assert detail["sha256"] == sha256(push.sources)
    assert detail["metadata"] == push.metadata
    assert detail["latest_version"]["semantic_version"] == "0.1.0"
    assert detail["wheel_sha256"] == sha256(push.wheel)
    assert detail["wheel_url"].endswith("/" + push.wheel_filename)
    assert client.get(detail["package_url"]).content == push.sources


def test_detail_is_found_by_latest_version_or_content_hash(client: httpx.Client) -> None:
    old = Push(client).run()
    new = Push(client, version="0.2.0").run()
    wanted = {
        "latest": "0.2.0",
        "0.1.0": "0.1.0",
        "0.1": "0.1.0",
        old.content_hash: "0.1.0",
        new.content_hash: "0.2.0",
    }
    for name, version in wanted.items():
        assert data(client.get(f"{HUB}/ada/word/@{name}"))["semantic_version"] == version


def test_versions_are_listed_in_the_order_of_their_publication(client: httpx.Client) -> None:
    for version in ("0.2.0", "0.1.0"):
        Push(client, version=version).run()
    listed = data(client.get(f"{HUB}/ada/word/versions"))["versions"]
    assert [(item["version"], item["size"]) for item in listed] == [("0.1.0", 2), ("0.2.0", 2)]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("ada/wrod/@latest", "did you mean `ada/word`?"),
        ("bob/word/status", "did you mean `ada/word`?"),
        ("ada/word/@9.9", "see the versions with `prime env versions ada/word`"),
        ("zoe/quantum/@latest", None),
    ],
)
def test_unknown_name_or_version_comes_with_a_way_on(
    client: httpx.Client, path: str, hint: str | None
) -> None:
    Push(client).run()
    answer = client.get(f"{HUB}/{path}")
    assert answer.status_code == 404
    assert "not found" in answer.json()["detail"]
    assert answer.json().get("hint") == hint


@pytest.mark.parametrize("slash", ["", "/"])
def test_slash_at_the_end_makes_no_difference(client: httpx.Client, slash: str) -> None:
    body = {"name": "word"}
    assert client.post(f"{HUB}/resolve{slash}", json=body).status_code == 200
    assert client.get(HUB + slash).status_code == 200


def test_private_environment_does_not_exist_for_others(folder: Path) -> None:
    push = Push(open_app(folder, "ada"), visibility="PRIVATE").run()
    detail = data(push.client.get(f"{HUB}/ada/word/@latest"))
    eve = open_app(folder, "eve")
    paths = [
        f"{HUB}/ada/word/@latest",
        f"{HUB}/ada/word/@latest/inspect",
        f"{HUB}/ada/word/@latest/lock",
        f"{HUB}/ada/word/status",
        f"{HUB}/ada/word/versions",
        "/environmentshub/ada/word/@latest/download",
        "/ada/simple/",
        "/ada/simple/word/",
        "/ada/word/simple/word/",
        f"/files/ada/word/{sha256(push.wheel)}/{push.wheel_filename}",
        detail["package_url"],
    ]
    for path in paths:
        assert push.client.get(path).status_code in {200, 404 if "lock" in path else 200}, path
        assert eve.get(path).status_code == 404, path
    assert eve.delete(f"{HUB}/ada/word").status_code == 404
    assert eve.delete(f"{HUB}/ada/word/@{push.content_hash}").status_code == 404
    assert eve.delete(f"{HUB}/{push.environment_id}").status_code == 404
    assert eve.post(f"{HUB}/lookup", json={"id": push.environment_id}).status_code == 404
    assert names(eve) == []


def test_environment_is_deleted_by_name_or_id(client: httpx.Client, folder: Path) -> None:
    for by_id in (False, True):
        push = Push(client).run()
        name = push.environment_id if by_id else "ada/word"
        assert isinstance(client.delete(f"{HUB}/{name}").raise_for_status().json(), dict)
        assert client.get(f"{HUB}/ada/word/status").status_code == 404
        assert blobs_of(folder) == []


def test_environment_of_another_user_is_not_deleted(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    eve = open_app(folder, "eve")
    assert eve.delete(f"{HUB}/ada/word").status_code == 403
    assert eve.delete(f"{HUB}/ada/word/@{push.content_hash}").status_code == 403
    assert names(push.client) == ["word"]
