import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from prime_cli.hub.context import open_database
from prime_cli.hub.db.tables import environments
from tests.helpers.database import location_of
from tests.helpers.storage import files_only, storage_of
from tests.hub.pushing import HUB, Push, data, make_wheel, open_app, sha256

JSON = {"accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"}


class Links(HTMLParser):
    """The attributes of every anchor of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))


@pytest.mark.parametrize("path", ["/ada/simple/word-play/", "/ada/word-play/simple/word-play/"])
def test_page_links_every_wheel_with_its_digest(client: httpx.Client, path: str) -> None:
    pushes = [
        Push(client, "word-play", version, metadata={"python_requires": ">=3.11"}).run()
        for version in ("0.1.0", "0.2.0")
    ]
    links = Links(client.get(path).raise_for_status().text).found
    assert [link["data-requires-python"] for link in links] == [">=3.11"] * 2
    for link, push in zip(links, reversed(pushes), strict=True):
        url, _, fragment = str(link["href"]).partition("#")
        assert fragment == f"sha256={sha256(push.wheel)}"
        assert client.get(url).content == push.wheel


def test_page_is_found_by_any_spelling(client: httpx.Client) -> None:
    Push(client, "word-play").run()
    client.follow_redirects = True
    names = ("word-play/", "Word_Play/", "word.play", "word-play")
    pages = {client.get(f"/ada/simple/{name}").raise_for_status().text for name in names}
    assert len(pages) == 1


def test_index_of_one_package_knows_no_other(client: httpx.Client) -> None:
    Push(client, "word-play").run()
    Push(client, "other").run()
    assert client.get("/ada/word-play/simple/other/").status_code == 404
    root = client.get("/ada/word_play/simple/").raise_for_status()
    assert [link["href"] for link in Links(root.text).found] == ["word-play/"]


@files_only
def test_lost_wheel_does_not_stop_the_others(client: httpx.Client, folder: Path) -> None:
    old = Push(client).run()
    digest = sha256(old.wheel)
    storage_of(folder).delete(digest)
    (folder / "simple" / "ada" / "word" / old.wheel_filename).unlink()
    new = Push(client, version="0.2.0").run()
    page = (folder / "simple" / "ada" / "word" / "index.html").read_text(encoding="utf-8")
    assert [link["href"] for link in Links(page).found] == [
        f"{new.wheel_filename}#sha256={sha256(new.wheel)}"
    ]


def test_root_lists_the_packages_of_one_owner(folder: Path) -> None:
    Push(open_app(folder, "bob"), "other").run()
    client = Push(open_app(folder, "ada"), "word").run().client
    root = client.get("/ada/simple/")
    assert [link["href"] for link in Links(root.text).found] == ["word/"]
    assert client.get("/zoe/simple/").status_code == 404


def test_index_speaks_json_to_those_who_ask(client: httpx.Client) -> None:
    push = Push(client).run()
    root = client.get("/ada/simple/", headers=JSON)
    assert root.headers["content-type"] == "application/vnd.pypi.simple.v1+json"
    assert root.json()["projects"] == [{"name": "word"}]
    page = client.get("/ada/simple/word/", headers=JSON).json()
    assert (page["name"], page["versions"]) == ("word", ["0.1.0"])
    [file] = page["files"]
    assert file["hashes"] == {"sha256": sha256(push.wheel)}
    assert file["size"] == len(push.wheel)
    assert file["upload-time"].endswith("Z")


@files_only
def test_files_of_the_index_are_beside_the_blobs(client: httpx.Client, folder: Path) -> None:
    push = Push(client, "word-play").run()
    digest = sha256(push.wheel)
    wheel = folder / "simple" / "ada" / "word-play" / push.wheel_filename
    assert wheel.samefile(folder / "blobs" / digest[:2] / digest)
    [link] = Links((wheel.parent / "index.html").read_text(encoding="utf-8")).found
    assert link["href"] == f"{push.wheel_filename}#sha256={digest}"


@files_only
def test_index_that_a_killed_process_left_behind_is_written_by_the_next(folder: Path) -> None:
    push = Push(open_app(folder)).run()
    shutil.rmtree(folder / "simple")
    with open_database(location_of(folder)).write() as connection:
        connection.execute(environments.update().values(index_stale=True))
    open_app(folder)
    assert (folder / "simple" / "ada" / "word" / push.wheel_filename).exists()


@files_only
def test_deleted_version_leaves_the_page(client: httpx.Client, folder: Path) -> None:
    old, new = Push(client).run(), Push(client, version="0.2.0").run()
    data(client.delete(f"{HUB}/ada/word/@{old.content_hash}"))
    left = {path.name for path in (folder / "simple" / "ada" / "word").iterdir()}
    assert left == {"index.html", new.wheel_filename, f"{new.wheel_filename}.metadata"}


@files_only
def test_uv_installs_an_environment_that_needs_another_from_the_files(
    client: httpx.Client, tmp_path: Path
) -> None:
    Push(client, "base-words").run()
    top = Push(client, "word")
    top.wheel = make_wheel("word", requires=("base_words>=0.1",))
    top.run()
    index = data(client.get(f"{HUB}/ada/word/@latest"))["simple_index_url"]
    target = tmp_path / "site"
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-cache", "--offline"]
    argv += ["--python", sys.executable, "--target", str(target)]
    subprocess.run([*argv, "--default-index", index, "word"], check=True)
    assert {path.name for path in target.glob("*.py")} == {"word.py", "base_words.py"}
