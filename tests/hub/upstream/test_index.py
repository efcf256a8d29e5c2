"""The package index of a mirrored environment, which lists what its upstream has."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.envs.upstream import _is_beside
from prime_cli.hub.context import Caller, open_hub
from prime_cli.hub.services.takedowns import take_down
from prime_cli.hub.upstream import read_through
from prime_cli.wire.accounts import NewTakedown
from tests.hub.pushing import HUB, Push, data, settings_for
from tests.hub.upstream.test_read_through import Wire, changed, here, moment, there, wire

__all__ = ["here", "moment", "there", "wire"]

PAGE = "/ada/simple/word/"
JSON = {"accept": "application/vnd.pypi.simple.v1+json"}


@pytest.fixture
def pushes(there: httpx.Client, wire: Wire) -> list[Push]:
    """Two versions at the upstream, whose index is beside it, as a served hub's is."""
    wire.change = index_at("http://hub.local/ada/simple/")
    return [
        Push(there, version=version, code=f"x = '{version}'").run()
        for version in ("0.1.0", "0.2.0")
    ]


def index_at(url: str) -> Callable[[httpx.Request, httpx.Response], httpx.Response]:
    changes: Callable[[httpx.Request, httpx.Response], httpx.Response] = changed(
        "@latest", lambda detail: detail.update(simple_index_url=url)
    )
    return changes


def files(client: httpx.Client) -> dict[str, dict[str, Any]]:
    listed = client.get(PAGE, headers=JSON).raise_for_status().json()["files"]
    return {file["filename"]: file for file in listed}


def test_every_version_is_listed_and_fetched_when_it_is_downloaded(
    here: httpx.Client, wire: Wire, pushes: list[Push]
) -> None:
    old, new = pushes
    listed = files(here)
    assert set(listed) == {old.wheel_filename, new.wheel_filename}
    assert wire.count(old.wheel_filename) == 0
    page = here.get(PAGE, headers=JSON).json()
    assert (page["meta"]["api-version"], page["versions"]) == ("1.0", ["0.1.0", "0.2.0"])
    assert "size" not in listed[old.wheel_filename]
    assert old.wheel_filename in here.get(PAGE).text
    assert here.get(listed[old.wheel_filename]["url"]).content == old.wheel
    assert files(here)[old.wheel_filename]["size"] == len(old.wheel)
    # What was fetched is told as this hub's own files are.
    assert here.get(PAGE, headers=JSON).json()["meta"]["api-version"] == "1.1"
    assert here.get(listed[new.wheel_filename]["url"]).content == new.wheel


def test_a_yanked_version_is_listed_as_such(
    there: httpx.Client, here: httpx.Client, pushes: list[Push]
) -> None:
    address = "/api/v1/environmentshub/ada/word/@0.1.0/yank"
    there.post(address, json={"reason": "wrong scores"}).raise_for_status()
    assert files(here)[pushes[0].wheel_filename]["yanked"] == "wrong scores"


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_a_version_that_is_taken_down_here_does_not_come_back_from_the_upstream(
    here: httpx.Client, tmp_path: Path, pushes: list[Push], version: str
) -> None:
    for push in pushes:
        here.get(f"{HUB}/ada/word/@{push.version}").raise_for_status()
    hub = open_hub(settings_for(tmp_path / "here", accounts=True))
    take_down(hub, Caller.operator(), NewTakedown(f"ada/word@{version}", "It mines coins"))
    (left,) = (push for push in pushes if push.version != version)
    assert set(files(here)) == {left.wheel_filename}
    listed = data(here.get(f"{HUB}/ada/word/versions"))["versions"]
    assert [row["version"] for row in listed] == [left.version]
    assert here.get(f"{HUB}/ada/word/@{version}").status_code == 451
    assert data(here.get(f"{HUB}/ada/word/@latest"))["semantic_version"] == left.version


def test_the_index_is_read_once_in_a_while(
    there: httpx.Client, here: httpx.Client, wire: Wire, moment: list[float], pushes: list[Push]
) -> None:
    files(here)
    files(here)
    assert wire.count("/simple/") == 1
    new = Push(there, version="0.3.0", code="x = 3").run()
    moment[0] += read_through.FRESH_SECONDS + 1
    assert new.wheel_filename in files(here)
    assert wire.count("/simple/") == 2


def test_an_upstream_that_is_away_leaves_what_is_known_and_is_named(
    here: httpx.Client,
    wire: Wire,
    moment: list[float],
    pushes: list[Push],
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = files(here)
    wire.away = True
    moment[0] += 1000
    with caplog.at_level(logging.WARNING):
        answer = here.get(PAGE, headers=JSON)
    assert {file["filename"] for file in answer.json()["files"]} == set(known)
    assert answer.headers["x-prime-upstream"].startswith("unreachable")
    assert "ada/word shows what is known of its upstream" in caplog.text
    refused = here.get(known[pushes[0].wheel_filename]["url"])
    assert refused.status_code == 503
    assert "does not answer" in refused.json()["detail"]
    wire.away = False
    moment[0] += 1000
    assert "x-prime-upstream" not in here.get(PAGE).headers


@pytest.mark.parametrize("url", ["http://10.0.0.1/simple/", "http://hub.local.evil.test/simple/"])
def test_an_index_elsewhere_is_not_asked_for(
    here: httpx.Client, wire: Wire, pushes: list[Push], url: str
) -> None:
    wire.change = index_at(url)
    assert set(files(here)) == {pushes[1].wheel_filename}
    assert {request.url.host for request in wire.seen} == {"hub.local"}


def test_what_is_no_wheel_of_the_environment_is_not_listed(
    here: httpx.Client, wire: Wire, pushes: list[Push]
) -> None:
    digest = "0" * 64
    lines = [
        f"other-9.0.0-py3-none-any.whl#sha256={digest}",
        "word-9.0.0-py3-none-any.whl",
        "word-9.1.0-py3-none-any.whl#sha256=../../etc",
        f"word-9.2.0.tar.gz#sha256={digest}",
        f"word-9.3.0-py3-none-any.whl#sha256={digest}",
    ]
    page = "".join(f'<a href="{line}">x</a>' for line in lines)
    tell_index = index_at("http://hub.local/ada/simple/")

    def change(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if request.url.path == PAGE:
            return httpx.Response(200, html=page)
        return tell_index(request, response)

    wire.change = change
    false = "word-9.3.0-py3-none-any.whl"
    listed = files(here)
    assert set(listed) == {pushes[1].wheel_filename, false}
    # Of which the upstream has no version.
    assert here.get(listed[false]["url"]).status_code == 404


@pytest.mark.parametrize(
    ("hub", "index", "beside"),
    [
        ("https://api.example.org", "https://hub.example.org/ada/simple/", True),
        ("https://api.example.org", "https://example.org.evil.test/ada/simple/", False),
        ("http://192.0.2.7:8480", "http://9.0.2.7/ada/simple/", False),
        ("http://hub", "http://other/ada/simple/", False),
    ],
)
def test_the_index_is_at_the_upstream_or_beside_it(hub: str, index: str, beside: bool) -> None:
    assert _is_beside(hub, index) is beside
