"""Logging in with a code, which is approved on the hub's machine or on its page."""

import re
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.helpers.cli import prime_process
from tests.helpers.official import OfficialClient, Release
from tests.helpers.serving import ServedHub
from tests.official.users import WITHOUT_KEY, User

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]

POLLED = 60
"""Seconds in which the client has asked again, which it does every 5."""


@pytest.fixture
def newcomer(release: Release, served: ServedHub, tmp_path: Path) -> OfficialClient:
    """A client without a key."""
    home = tmp_path / "newcomer"
    home.mkdir()
    return OfficialClient(release, home, {**served.variables, **WITHOUT_KEY})


def read_code(login: "subprocess.Popen[str]") -> str:
    """The code in the address that the client says to open."""
    assert login.stdout is not None
    for line in login.stdout:
        if found := re.search(r"/dashboard/tokens/challenge\?code=(\S+)", line):
            return found[1]
    raise AssertionError("The client showed no code")


def test_login_is_approved_on_the_machine_of_the_hub(
    newcomer: OfficialClient, user: User, data: Path
) -> None:
    with newcomer.start("login") as login:
        code = read_code(login)
        prime_process("hub", "approve", code, "--user", user.slug, "--data", str(data)).ok()
        login.communicate(timeout=POLLED)
    assert login.returncode == 0
    assert user.slug in newcomer("whoami").ok().out


def test_login_is_approved_on_the_page_that_the_client_opens(
    newcomer: OfficialClient, user: User, served: ServedHub
) -> None:
    with newcomer.start("login") as login, httpx.Client(base_url=served.url) as browser:
        code = read_code(login)
        page = browser.get(f"/dashboard/tokens/challenge?code={code}").raise_for_status()
        assert code in page.text
        form = {"code": code, "key": user.key, "answer": "approve"}
        browser.post("/dashboard/tokens/challenge", data=form).raise_for_status()
        login.communicate(timeout=POLLED)
    assert login.returncode == 0
    assert user.slug in newcomer("whoami").ok().out


def test_refused_login_ends_without_a_key(newcomer: OfficialClient, served: ServedHub) -> None:
    with newcomer.start("login") as login, httpx.Client(base_url=served.url) as browser:
        form = {"code": read_code(login), "answer": "refuse"}
        browser.post("/dashboard/tokens/challenge", data=form).raise_for_status()
        said, _ = login.communicate(timeout=POLLED)
    assert "expired" in said
    assert newcomer("whoami").code == 1
