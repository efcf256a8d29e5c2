"""The pages and files that installers read, and who is given them."""

import base64
import io
import re
import zipfile
from pathlib import Path

import httpx
import pytest

from prime_cli.hub.context import open_hub
from prime_cli.hub.services.access import owner_id
from prime_cli.hub.services.keys import READ, WRITE, Scope, create_key
from tests.hub.pushing import HUB, Push, data, open_app, settings_for, sha256

JSON = {"accept": "application/vnd.pypi.simple.v1+json"}


def key_of(folder: Path, slug: str, scope: Scope = WRITE) -> str:
    """A new key of a user, who is made when there is none."""
    hub = open_hub(settings_for(folder, slug))
    with hub.database.write() as connection:
        return create_key(hub, connection, owner_id(hub, connection, slug), scope=scope).key


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def basic(user: str, password: str = "") -> dict[str, str]:
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"authorization": f"Basic {text}"}


@pytest.fixture
def nobody(folder: Path) -> httpx.Client:
    """A client without a key of a hub with accounts, where Ada has published `word` privately."""
    client = open_app(folder, accounts=True)
    owner = open_app(folder, accounts=True)
    owner.headers.update(bearer(key_of(folder, "ada")))
    Push(owner, visibility="PRIVATE").run()
    return client


def private_addresses(client: httpx.Client, headers: dict[str, str]) -> list[str]:
    """Every address of the index that tells of the private environment."""
    page = client.get("/ada/simple/word/", headers={**JSON, **headers}).json()
    url = page["files"][0]["url"]
    roots = ["/ada/simple/", "/ada/word/simple/"]
    return [*roots, "/ada/simple/word/", "/ada/word/simple/word/", url, f"{url}.metadata"]


def test_private_packages_are_shown_to_those_who_may_see_them(
    nobody: httpx.Client, folder: Path
) -> None:
    key = key_of(folder, "ada", READ)
    ways = [bearer(key), basic("__token__", key), basic(key), basic(key, "x")]
    for way in ways:
        for address in private_addresses(nobody, way):
            assert nobody.get(address, headers=way).status_code == 200, address


def test_private_packages_are_as_unknown_as_those_that_are_not_there(
    nobody: httpx.Client, folder: Path
) -> None:
    addresses = private_addresses(nobody, bearer(key_of(folder, "ada")))
    others = [{}, bearer(key_of(folder, "bob")), basic("__token__", key_of(folder, "bob"))]
    for headers in others:
        for address in addresses:
            hidden = nobody.get(address, headers=headers)
            absent = nobody.get(address.replace("/ada/", "/zoe/"), headers=headers)
            assert hidden.status_code == absent.status_code == 404
            assert re.sub(r"\bada\b", "zoe", hidden.text) == absent.text


def test_invalid_credentials_are_challenged_for_existing_and_missing_paths(
    nobody: httpx.Client, folder: Path
) -> None:
    addresses = private_addresses(nobody, bearer(key_of(folder, "ada")))
    for headers in (basic("__token__", "wrong"), basic("__token__"), bearer("wrong")):
        for address in [*addresses, "/ada/simple/none/", "/zoe/simple/"]:
            refused = nobody.get(address, headers=headers)
            assert refused.status_code == 401, address
            assert refused.headers["www-authenticate"].startswith("Basic ")


def test_what_is_public_is_shown_to_any_credentials(nobody: httpx.Client, folder: Path) -> None:
    owner = open_app(folder, accounts=True)
    owner.headers.update(bearer(key_of(folder, "ada")))
    Push(owner, "open-word", visibility="PUBLIC").run()
    for headers in ({}, basic("__token__", "wrong"), bearer(key_of(folder, "bob"))):
        root = nobody.get("/ada/simple/", headers={**JSON, **headers}).json()
        assert root["projects"] == [{"name": "open-word"}]
        assert nobody.get("/ada/simple/open-word/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("asked", "location"),
    [
        ("/ada/simple/Word_.Play", "/ada/simple/word-play/"),
        ("/ada/simple/word-play", "/ada/simple/word-play/"),
        ("/ada/simple", "/ada/simple/"),
        ("/ada/word-play/simple", "/ada/word-play/simple/"),
        ("/ada/word-play/simple/WORD-play/", "/ada/word-play/simple/word-play/"),
        ("/ada/simple/no-such?format=text/html", "/ada/simple/no-such/?format=text/html"),
    ],
)
def test_every_page_has_one_address(client: httpx.Client, asked: str, location: str) -> None:
    moved = client.get(asked)
    assert (moved.status_code, moved.headers["location"]) == (301, location)


def test_addresses_keep_the_path_that_the_hub_is_under(folder: Path) -> None:
    client = open_app(folder, public_url="http://hub.local/team")
    assert client.get("/ada/simple").headers["location"] == "/team/ada/simple/"


@pytest.mark.parametrize("name", ["x" * 200, "-", "a b", "%00"])
def test_names_that_cannot_be_are_not_found(client: httpx.Client, name: str) -> None:
    client.follow_redirects = True
    assert client.get(f"/ada/simple/{name}/").status_code == 404


def test_an_unknown_format_is_refused(client: httpx.Client) -> None:
    Push(client).run()
    for request in (
        client.get("/ada/simple/word/", headers={"accept": "image/png"}),
        client.get("/ada/simple/?format=text/plain"),
    ):
        assert request.status_code == 406
        assert "text/html" in request.json()["detail"]


def test_metadata_is_behind_its_wheel_with_the_digest_on_the_page(client: httpx.Client) -> None:
    push = Push(client, metadata={"python_requires": ">=3.11"}).run()
    [file] = client.get("/ada/simple/word/", headers=JSON).json()["files"]
    found = client.get(f"{file['url']}.metadata").raise_for_status()
    with zipfile.ZipFile(io.BytesIO(push.wheel)) as archive:
        assert found.content == archive.read("word-0.1.0.dist-info/METADATA")
    assert file["core-metadata"] == {"sha256": sha256(found.content)}
    assert file["requires-python"] == ">=3.11"
    html = client.get("/ada/simple/word/").text
    assert f'data-dist-info-metadata="sha256={sha256(found.content)}"' in html
    assert f'data-core-metadata="sha256={sha256(found.content)}"' in html


def test_metadata_of_what_is_not_published_is_not_found(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    push.push_wheel()
    path = f"/files/ada/word/{sha256(push.wheel)}/{push.wheel_filename}.metadata"
    assert client.get(path).status_code == 404


def test_yanked_version_says_why_in_both_forms(client: httpx.Client) -> None:
    Push(client).run()
    data(client.post(f"{HUB}/ada/word/@0.1.0/yank", json={"reason": 'it "breaks" <all>'}))
    [file] = client.get("/ada/simple/word/", headers=JSON).json()["files"]
    assert file["yanked"] == 'it "breaks" <all>'
    html = client.get("/ada/simple/word/").text
    assert 'data-yanked="it &quot;breaks&quot; &lt;all&gt;"' in html
    data(client.post(f"{HUB}/ada/word/@0.1.0/yank", json={}))
    [file] = client.get("/ada/simple/word/", headers=JSON).json()["files"]
    assert file["yanked"] is True
    assert 'data-yanked=""' in client.get("/ada/simple/word/").text
    data(client.post(f"{HUB}/ada/word/@0.1.0/unyank"))
    assert "yanked" not in client.get("/ada/simple/word/").text
