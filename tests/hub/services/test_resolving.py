from pathlib import Path

import httpx
import pytest

from tests.hub.pushing import HUB, Push, data, names, open_app


def test_resolve_makes_an_environment_once(client: httpx.Client) -> None:
    first = data(client.post(f"{HUB}/resolve", json={"name": "Word_Play"}))
    second = data(client.post(f"{HUB}/resolve", json={"name": "word-play"}))
    assert first["owner"] == {"name": "ada", "type": "user"}
    assert (first["created"], second["created"]) == (True, False)
    assert (first["id"], first["name"]) == (second["id"], second["name"])


def test_visibility_that_is_given_changes_a_published_environment(client: httpx.Client) -> None:
    Push(client).run()
    body = {"name": "word", "visibility": "private"}
    assert data(client.post(f"{HUB}/resolve", json=body))["visibility"] == "PRIVATE"
    assert data(client.post(f"{HUB}/resolve", json={"name": "word"}))["visibility"] == "PRIVATE"
    assert data(client.get(f"{HUB}/ada/word/status"))["visibility"] == "PRIVATE"


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
def test_body_that_is_no_json_is_refused(client: httpx.Client, body: bytes) -> None:
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
