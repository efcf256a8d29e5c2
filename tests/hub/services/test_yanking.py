from pathlib import Path

import httpx

from tests.helpers.storage import files_only
from tests.hub.pushing import HUB, Push, data, open_app


def yank(client: httpx.Client, version: str, reason: str = "broken") -> httpx.Response:
    return client.post(f"{HUB}/ada/word/@{version}/yank", json={"reason": reason})


def latest(client: httpx.Client) -> str:
    return str(data(client.get(f"{HUB}/ada/word/@latest"))["semantic_version"])


def test_latest_passes_yanked_versions_over(client: httpx.Client) -> None:
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        Push(client, version=version).run()
    assert data(yank(client, "0.3.0")) == {"semantic_version": "0.3.0", "yanked": "broken"}
    assert latest(client) == "0.2.0"
    assert data(client.get(f"{HUB}/ada/word/status"))["latest_version"]["semantic_version"] == (
        "0.2.0"
    )
    data(client.post(f"{HUB}/ada/word/@0.3.0/unyank"))
    assert latest(client) == "0.3.0"


def test_latest_is_the_newest_when_all_are_yanked(client: httpx.Client) -> None:
    for version in ("0.1.0", "0.2.0"):
        Push(client, version=version).run()
        data(yank(client, version))
    assert latest(client) == "0.2.0"


def test_publishing_continues_after_a_yank(client: httpx.Client) -> None:
    Push(client).run()
    data(yank(client, "0.1.0"))
    Push(client, version="0.2.0").run()
    assert latest(client) == "0.2.0"


def test_detail_and_list_say_what_is_yanked_and_why(client: httpx.Client) -> None:
    for version in ("0.1.0", "0.2.0"):
        Push(client, version=version).run()
    data(yank(client, "0.1.0", "wrong rewards"))
    assert data(client.get(f"{HUB}/ada/word/@0.1.0"))["yanked"] == "wrong rewards"
    assert "yanked" not in data(client.get(f"{HUB}/ada/word/@0.2.0"))
    rows = data(client.get(f"{HUB}/ada/word/versions"))["versions"]
    assert [row["yanked"] for row in rows] == [None, "wrong rewards"]


def test_yanked_version_is_still_there_for_those_who_name_it(client: httpx.Client) -> None:
    push = Push(client).run()
    data(yank(client, "0.1.0"))
    detail = data(client.get(f"{HUB}/ada/word/@0.1.0"))
    assert client.get(detail["wheel_url"]).content == push.wheel


def test_only_the_owner_yanks_and_only_what_is_there(folder: Path) -> None:
    Push(open_app(folder, "ada")).run()
    stranger = open_app(folder, "bob")
    assert yank(stranger, "0.1.0").status_code == 403
    assert stranger.post(f"{HUB}/ada/word/@0.1.0/unyank").status_code == 403
    owner = open_app(folder, "ada")
    assert yank(owner, "0.9.0").status_code == 404
    assert yank(owner, "0.1.0", "x" * 1001).status_code == 422


@files_only
def test_files_of_the_index_say_it_too(client: httpx.Client, folder: Path) -> None:
    Push(client).run()
    data(yank(client, "0.1.0", "broken"))
    page = (folder / "simple" / "ada" / "word" / "index.html").read_text(encoding="utf-8")
    assert 'data-yanked="broken"' in page


def test_hub_says_that_it_can_yank(client: httpx.Client) -> None:
    assert "yank" in client.get("/api/v1/capabilities").json()["features"]
