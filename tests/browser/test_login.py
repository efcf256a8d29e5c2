"""`prime login`, approved by a person in Chromium."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from prime_cli.hub.context import Caller
from prime_cli.hub.services.key_management import list_keys
from tests.browser.site import Site
from tests.browser.watched import Visit
from tests.helpers.cli import COMMAND, prime_process

pytestmark = pytest.mark.slow

_CODE = re.compile(r"(/dashboard/tokens/challenge\?code=\S+)")


def start_login(url: str) -> tuple["subprocess.Popen[str]", str]:
    """A login that waits, and the path of the page that it names."""
    words = ("login", "--headless", "--hub", url, "--name", "team", "-q")
    login = subprocess.Popen(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert login.stderr is not None
    for line in login.stderr:
        if found := _CODE.search(line):
            return login, found[1]
    raise AssertionError("no address was shown")


@pytest.mark.parametrize("javascript", [True, False])
def test_login_is_approved_on_the_page(
    site: Site, browse: Callable[..., Visit], home: Path, javascript: bool
) -> None:
    login, path = start_login(site.url)
    with login:
        window = browse(site.url, javascript=javascript)
        page = window.open(path)
        page.get_by_label("API key").fill(site.keys["ada"])
        window.picture(f"login-approval-{'scripts' if javascript else 'no-scripts'}")
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("logged in as ada").wait_for()
        login.communicate(timeout=60)
    assert login.returncode == 0
    assert prime_process("whoami", "-o", "json").ok().json["slug"] == "ada"


def test_refused_login_ends_without_a_key(site: Site, browse: Callable[..., Visit]) -> None:
    before = len(list_keys(site.hub, Caller.operator(), "bob"))
    login, path = start_login(site.url)
    with login:
        page = browse(site.url).open(path)
        page.get_by_role("button", name="Refuse").click()
        page.get_by_role("heading", name="Refused").wait_for()
        login.communicate(timeout=60)
    assert login.returncode not in (0, None)
    assert len(list_keys(site.hub, Caller.operator(), "bob")) == before


def test_wrong_key_is_said_and_can_be_corrected(site: Site, browse: Callable[..., Visit]) -> None:
    login, path = start_login(site.url)
    with login:
        window = browse(site.url)
        window.expected |= {401, 403}
        page = window.open(path)
        page.get_by_label("API key").fill("pit_of_nobody")
        page.get_by_role("button", name="Approve").click()
        page.locator(".problem").wait_for()
        page.get_by_label("API key").fill(site.keys["bob"])
        page.get_by_role("button", name="Approve").click()
        page.get_by_text("logged in as bob").wait_for()
        login.communicate(timeout=60)
    assert login.returncode == 0
