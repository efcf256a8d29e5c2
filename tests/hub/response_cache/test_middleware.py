import gzip
from pathlib import Path

import httpx
import pytest
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.testclient import TestClient

from prime_cli.hub.context import open_database
from prime_cli.hub.db.tables import owners
from prime_cli.hub.downloads import DownloadCountMiddleware
from prime_cli.hub.response_cache.middleware import ResponseCacheMiddleware
from tests.helpers.database import location_of
from tests.hub.pushing import HUB, Push, open_app
from tests.hub.response_cache.serving import JSON, Counting, anonymous, served_app
from tests.hub.routes.test_package_index import bearer, key_of

PAGE = "/ada/simple/word/"


class Hub:
    """A served hub: its layer of ready pages, and a count of what went past it."""

    def __init__(self, data: Path, **settings: int) -> None:
        self.app = served_app(data, **settings)
        stack = self.app.build_middleware_stack()
        assert isinstance(stack, ServerErrorMiddleware)
        assert isinstance(stack.app, DownloadCountMiddleware)
        assert isinstance(stack.app.app, ResponseCacheMiddleware)
        self.pages = stack.app.app
        self.inside = Counting(self.pages.app)
        self.pages.app = self.inside
        self.app.middleware_stack = stack

    def client(self) -> TestClient:
        return TestClient(self.app, base_url="http://hub.local", follow_redirects=False)


@pytest.fixture
def hub(folder: Path) -> Hub:
    """A hub where Ada has published `word`."""
    Push(open_app(folder), "word", code="x = 1").run()
    return Hub(folder)


def test_page_is_made_once_and_sent_often(hub: Hub) -> None:
    with hub.client() as client:
        first = client.get(PAGE)
        assert [client.get(PAGE).content for _ in range(5)] == [first.content] * 5
        assert client.head(PAGE).headers["content-length"] == str(len(first.content))
    assert hub.inside.count == 1


def test_public_index_is_the_same_page_for_those_with_a_key(hub: Hub, folder: Path) -> None:
    keys = (key_of(folder, "ada"), key_of(folder, "bob"), "prime_sk_unknown")
    with hub.client() as client:
        first = client.get(PAGE)
        for key in keys:
            again = client.get(PAGE, headers=bearer(key))
            assert (again.status_code, again.content) == (200, first.content)
            assert again.headers["etag"] == first.headers["etag"]
    assert hub.inside.count == 1


def test_form_and_packing_are_pages_of_their_own(hub: Hub) -> None:
    with hub.client() as client:
        html = client.get(PAGE, headers={"accept-encoding": "identity"})
        json = client.get(PAGE, headers={**JSON, "accept-encoding": "identity"})
        assert html.headers["content-type"].startswith("text/html")
        assert json.headers["content-type"] == JSON["accept"]
        assert html.headers["etag"] != json.headers["etag"]
        assert "accept" in html.headers["vary"]


def test_large_pages_are_packed_for_those_who_take_it(folder: Path) -> None:
    owner = open_app(folder)
    for number in range(12):
        Push(owner, "word", f"0.{number}.0").run()
    hub = Hub(folder)
    with hub.client() as client:
        plain = client.get(PAGE, headers={"accept-encoding": "identity"})
        with client.stream("GET", PAGE, headers={"accept-encoding": "br, gzip"}) as packed:
            raw = b"".join(packed.iter_raw())
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(raw) == plain.content
        assert len(raw) < len(plain.content) / 2
        assert packed.headers["etag"] != plain.headers["etag"]
        refused = client.get(PAGE, headers={"accept-encoding": "gzip;q=0"})
        assert "content-encoding" not in refused.headers


@pytest.mark.parametrize("tag", ["{}", "W/{}", '"other", {}', "*"])
def test_page_that_the_caller_has_is_not_sent_again(hub: Hub, tag: str) -> None:
    with hub.client() as client:
        etag = client.get(PAGE).headers["etag"]
        same = client.get(PAGE, headers={"if-none-match": tag.format(etag)})
        assert (same.status_code, same.content) == (304, b"")
        assert same.headers["etag"] == etag
        assert client.get(PAGE, headers={"if-none-match": '"other"'}).status_code == 200


def test_what_is_asked_with_a_key_is_never_kept(hub: Hub, folder: Path) -> None:
    Push(open_app(folder), "secret", visibility="PRIVATE").run()
    key = bearer(key_of(folder, "ada"))
    with hub.client() as client:
        for address in ("/ada/simple/secret/", f"{HUB}/ada/secret/@latest", "/ada/simple/"):
            assert client.get(address).text.count("secret-0.1.0") == 0
            mine = client.get(address, headers=key)
            assert mine.status_code == 200
            assert "private" in mine.headers["cache-control"]
            again = {**key, "if-none-match": mine.headers["etag"]}
            assert client.get(address, headers=again).status_code == 304
        assert len(hub.pages.cache) == 3
        assert client.get("/ada/simple/secret/").status_code == 404
        assert client.get("/ada/simple/").text.count("secret") == 0


def test_cookies_are_not_shared(hub: Hub) -> None:
    with hub.client() as client:
        client.get("/ada/simple/", headers={"cookie": "session=1"})
    assert len(hub.pages.cache) == 0


def test_addresses_with_a_query_are_not_kept(hub: Hub) -> None:
    with hub.client() as client:
        for number in range(3):
            assert client.get(f"{PAGE}?x={number}").status_code == 200
    assert len(hub.pages.cache) == 0


def test_what_is_not_there_is_kept_too(hub: Hub) -> None:
    with hub.client() as client:
        for _ in range(3):
            assert client.get("/ada/simple/requests/").status_code == 404
    assert hub.inside.count == 1


def test_moves_and_refusals_are_not_kept(hub: Hub) -> None:
    with hub.client() as client:
        assert client.get("/ada/simple/Word/").status_code == 301
        assert client.get(PAGE, headers={"accept": "image/png"}).status_code == 406
        assert client.get(f"{HUB}/ada/word/@!").status_code == 422
    assert len(hub.pages.cache) == 0


def test_pages_take_no_more_room_than_allowed(folder: Path) -> None:
    owner = open_app(folder)
    for number in range(5):
        Push(owner, f"word-{number}").run()
    hub = Hub(folder, hot_page_bytes=20_000)
    with hub.client() as client:
        for number in range(200):
            client.get(f"/ada/simple/word-{number % 5}/")
            client.get(f"/ada/simple/none-{number}/")
            assert hub.pages.cache.size <= 20_000


def test_metadata_is_kept_too(hub: Hub) -> None:
    with hub.client() as client:
        url = client.get(PAGE, headers=JSON).json()["files"][0]["url"] + ".metadata"
        bodies = {client.get(url).raise_for_status().content for _ in range(3)}
    assert len(bodies) == 1
    assert hub.inside.count == 2


def test_embedded_hub_keeps_no_pages(client: httpx.Client) -> None:
    Push(client).run()
    assert "etag" not in client.get(PAGE).headers


def test_served_application_has_the_layer(folder: Path) -> None:
    Push(open_app(folder), "word").run()
    with anonymous(folder) as client:
        assert client.get(PAGE).headers["etag"]


def test_what_belongs_to_another_hub_is_not_kept(hub: Hub, folder: Path) -> None:
    with open_database(location_of(folder)).write() as connection:
        connection.execute(owners.update().values(type="upstream"))
    with hub.client() as client:
        for address in (PAGE, "/ada/simple/", f"{HUB}/ada/word/@latest"):
            assert client.get(address).status_code == 200
    assert len(hub.pages.cache) == 0
