"""Making environments: resolve and fork."""

from pathlib import Path

import httpx
import pytest

from tests.hub.pushing import HUB, Push, data, names, open_app

# --- Resolve ---


def test_resolve_makes_an_environment_once(client: httpx.Client) -> None:
    first = data(client.post(f"{HUB}/resolve", json={"name": "Word_Play"}))
    second = data(client.post(f"{HUB}/resolve", json={"name": "word-play"}))
    assert first["owner"] == {"name": "ada", "type": "user"}
    assert (first["created"], second["created"]) == (True, False)
    assert (first["id"], first["name"]) == (second["id"], second["name"])


def test_visibility_that_is_given_changes_nothing_yet(client: httpx.Client) -> None:
    Push(client).run()
    body = {"name": "word", "visibility": "private"}
    assert data(client.post(f"{HUB}/resolve", json=body))["visibility"] == "PUBLIC"
    assert data(client.get(f"{HUB}/ada/word/status"))["visibility"] == "PUBLIC"


@pytest.mark.parametrize(
    ("default", "wanted", "first"),
    [
        ("PUBLIC", None, "PUBLIC"),
        ("PUBLIC", "PRIVATE", "PRIVATE"),
        ("PRIVATE", None, "PRIVATE"),
        ("PRIVATE", "PUBLIC", "PRIVATE"),
    ],
)
def test_new_environment_is_at_first_no_wider_than_the_default(
    folder: Path, default: str, wanted: str | None, first: str
) -> None:
    client = open_app(folder, default_visibility=default)
    body = {"name": "word", "visibility": wanted}
    assert data(client.post(f"{HUB}/resolve", json=body))["visibility"] == first


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "word", "owner_slug": "starter"}, 403),
        ({"name": "word", "team_slug": "starter"}, 403),
        ({"name": "word", "team_id": "cmteam0000000000000000000"}, 404),
        ({"name": "../word"}, 422),
        ({"name": "word@0.1.0"}, 422),
        ({"name": "word", "visibility": "SECRET"}, 422),
        ({}, 422),
        ([], 422),
    ],
)
def test_resolve_refuses_what_it_cannot_make(
    client: httpx.Client, body: object, status: int
) -> None:
    answer = client.post(f"{HUB}/resolve", json=body)
    assert answer.status_code == status
    assert names(client) == []


@pytest.mark.parametrize("body", [b"", b"{", b'{"name": "\xff"}', b"[" * 10_000])
def test_body_that_is_not_json_is_refused(client: httpx.Client, body: bytes) -> None:
    assert client.post(f"{HUB}/resolve", content=body).status_code == 422


def test_starter_may_publish_its_own(folder: Path) -> None:
    Push(open_app(folder, "starter")).run()
    assert names(open_app(folder, "ada"), "owner=starter") == ["word"]


def test_lookup_takes_an_id_or_a_name(client: httpx.Client) -> None:
    made = data(client.post(f"{HUB}/resolve", json={"name": "word"}))["id"]
    for body in (
        {"id": made},
        {"id": "ada/word"},
        {"name": "word"},
        {"name": "word", "team_slug": "ada"},
    ):
        assert data(client.post(f"{HUB}/lookup", json=body))["id"] == made


@pytest.mark.parametrize(
    ("body", "status"),
    [({"id": "env_0"}, 404), ({"name": "word", "team_slug": "bob"}, 404), ({}, 422)],
)
def test_lookup_of_what_is_not_there_is_refused(
    client: httpx.Client, body: dict[str, str], status: int
) -> None:
    assert client.post(f"{HUB}/lookup", json=body).status_code == status


# --- Fork ---


def open_as_bob(folder: Path) -> httpx.Client:
    """Another user of the same data."""
    return open_app(folder, owner="bob")


def test_fork_is_the_newest_version_under_another_owner(folder: Path) -> None:
    ada = open_app(folder)
    Push(ada).run()
    push = Push(ada, version="0.2.0", code="x = 2").run()
    bob = open_as_bob(folder)
    forked = data(bob.post(f"{HUB}/ada/word/fork", json={}))
    assert (forked["slug"], forked["owner"], forked["name"]) == ("bob/word", "bob", "word")
    detail = data(bob.get(f"{HUB}/bob/word/@latest"))
    assert detail["id"] == forked["environment_id"]
    assert detail["version_id"] == forked["version_id"]
    assert detail["semantic_version"] == "0.2.0"
    assert bob.get(detail["wheel_url"]).content == push.wheel
    assert bob.get(detail["package_url"]).content == push.sources
    assert len(data(bob.get(f"{HUB}/bob/word/versions"))["versions"]) == 1


def test_fork_says_where_it_comes_from(folder: Path) -> None:
    Push(open_app(folder)).run()
    data(open_as_bob(folder).post(f"{HUB}/ada/word/fork", json={}))
    data(open_app(folder, owner="eve").post(f"{HUB}/bob/word/fork", json={}))
    metadata = data(open_app(folder).get(f"{HUB}/eve/word/@latest"))["metadata"]
    assert [step["owner"] for step in metadata["fork_chain"]] == ["ada", "bob"]
    assert metadata["origin"] == metadata["fork_chain"][0]


def test_fork_lives_on_when_its_source_is_deleted(folder: Path) -> None:
    ada = open_app(folder)
    push = Push(ada).run()
    bob = open_as_bob(folder)
    data(bob.post(f"{HUB}/ada/word/fork", json={}))
    data(ada.delete(f"{HUB}/ada/word"))
    assert bob.get(data(bob.get(f"{HUB}/bob/word/@latest"))["wheel_url"]).content == push.wheel
    Push(bob, version="0.3.0", code="x = 3").run()
    assert data(bob.get(f"{HUB}/bob/word/@latest"))["semantic_version"] == "0.3.0"


def test_private_environment_cannot_be_forked_by_others(folder: Path) -> None:
    Push(open_app(folder), visibility="PRIVATE").run()
    assert open_as_bob(folder).post(f"{HUB}/ada/word/fork", json={}).status_code == 404


def test_fork_does_not_take_the_place_of_another_environment(folder: Path) -> None:
    Push(open_app(folder)).run()
    bob = open_as_bob(folder)
    Push(bob, code="mine = 1").run()
    assert bob.post(f"{HUB}/ada/word/fork", json={}).status_code == 409


def test_fork_into_an_owner_of_others_is_refused(folder: Path) -> None:
    Push(open_app(folder)).run()
    asked = open_as_bob(folder).post(f"{HUB}/ada/word/fork", json={"team_slug": "eve"})
    assert asked.status_code == 403


def test_star_is_counted_once_and_listed(folder: Path) -> None:
    ada, bob = open_app(folder), open_as_bob(folder)
    Push(ada, "word").run()
    Push(ada, "other").run()
    for _ in range(2):
        data(bob.put(f"{HUB}/ada/word/star"))
    assert data(ada.get(f"{HUB}/ada/word/@latest"))["stars"] == 1
    assert names(bob, "starred_only=true") == ["word"]
    assert names(ada, "starred_only=true") == []
    data(bob.delete(f"{HUB}/ada/word/star"))
    data(bob.delete(f"{HUB}/ada/word/star"))
    assert data(ada.get(f"{HUB}/ada/word/@latest")).get("stars", 0) == 0
