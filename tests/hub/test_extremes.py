"""Texts and numbers at the edge of what a database keeps, at every address of the API."""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from prime_cli.hub.app import OPERATIONS
from prime_cli.hub.routes.router import Operation
from prime_cli.hub.urls import API
from tests.helpers.postgres import fresh_database
from tests.hub.pushing import HUB, Push, data, names, open_app

TEXTS = ["%00", "a%00b", "%ED%A0%80", "%FF%FE", "9" * 30, "%27%3B--", "%25"]
VALUES: list[Any] = ["a\0b", "\0", "", 2**31, 2**63, -(2**63) - 1, 1e308, [], ["a\0b"], {}, True]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A hub with one environment, on each kind of database."""
    folder = tmp_path_factory.mktemp("hub")
    if request.param == "sqlite":
        yield filled(open_app(folder, database=None))
        return
    with fresh_database() as url:
        yield filled(open_app(folder, database=url))


def filled(client: httpx.Client) -> httpx.Client:
    Push(client).run()
    return client


def bodies(kind: Any) -> Iterator[dict[str, Any]]:
    """JSON for a struct, with one extreme value in every field, or in one field alone."""
    fields = [field.encode_name for field in msgspec.structs.fields(kind)]
    for value in VALUES:
        yield dict.fromkeys(fields, value)
        for field in fields:
            yield dict.fromkeys(fields, "word") | {field: value}


@pytest.mark.sample(15, "operation")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: f"{o.method} {o.path}")
def test_no_address_fails_on_extreme_texts(client: httpx.Client, operation: Operation) -> None:
    for text in TEXTS:
        for owner in (text, "ada"):
            path = API + operation.path.replace("{owner}", owner).replace("{", "").replace(
                "}", text
            )
            query = "&".join(f"{parameter.name}={text}" for parameter in operation.parameters)
            answer = client.request(operation.method, f"{path}?{query}", json={})
            assert answer.status_code < 500, (path, query, answer.text)


@pytest.mark.sample(15, "operation")
@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if operation.takes],
    ids=lambda o: f"{o.method} {o.path}",
)
def test_no_address_fails_on_extreme_bodies(client: httpx.Client, operation: Operation) -> None:
    found = data(client.get(f"{HUB}/ada/word/status")) and data(
        client.post(f"{HUB}/lookup", json={"name": "word"})
    )
    path = operation.path.replace("{owner}", "ada").replace("{name}", "word")
    path = path.replace("{version}", "latest").replace("{id}", found["id"])
    for body in bodies(operation.takes):
        answer = client.request(operation.method, API + path, json=body)
        assert answer.status_code < 500, (path, body, answer.text)


def test_text_with_nul_is_refused_where_it_would_be_kept(client: httpx.Client) -> None:
    push = Push(client, "other", metadata={"description": "a\0b"})
    push.begin()
    push.push_wheel()
    finished = push.finalize("versions", push.push_sources())
    assert (finished.status_code, finished.json()["code"]) == (422, "usage")
    assert "other" not in names(client)


@pytest.mark.parametrize("path", [f"{HUB}/%00", f"{HUB}/ada/a%00b", f"{HUB}/env_%00"])
def test_path_with_nul_is_refused(client: httpx.Client, path: str) -> None:
    assert client.delete(path).status_code == 422


def test_query_with_nul_is_refused(client: httpx.Client) -> None:
    assert client.get(f"{HUB}/?owner=%00").status_code == 422


@pytest.mark.parametrize("query", ["offset=2147483648", "offset=9223372036854775808", "limit=-1"])
def test_number_out_of_range_is_refused(client: httpx.Client, query: str) -> None:
    assert client.get(f"{HUB}/?{query}").status_code == 422
