"""A served hub whose users sign in with npm's oidc-provider, a certified provider, under node."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tests.helpers.npm import install_npm_package
from tests.helpers.serving import serve
from tests.hub.pushing import data
from tests.hub.routes.test_logins import PAGE, WHOAMI, begin_at

SCRIPT = Path(__file__).parents[1] / "helpers" / "oidc_provider.mjs"
PACKAGE = "oidc-provider@9"
SECRET = "of-the-client"
_ACTION = re.compile(r'<form[^>]* action="([^"]+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the package and the script that serves with it."""
    folder = install_npm_package(tmp_path / "provider", PACKAGE).parent
    return Path(shutil.copy(SCRIPT, folder / SCRIPT.name))


@contextmanager
def provider(script: Path, redirect: str) -> Iterator[str]:
    """Its URL, while it runs."""
    port = free_port()
    words = ["node", str(script), str(port), redirect, SECRET]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, b"")
            assert any(line.strip() == b"ready" for line in lines)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def follow(browser: httpx.Client, answer: httpx.Response, until: str) -> httpx.Response:
    """What the browser shows after all redirects, having filled in every form of the provider."""
    for _ in range(20):
        if answer.is_redirect:
            answer = browser.get(urljoin(str(answer.url), answer.headers["location"]))
        elif str(answer.url).startswith(until):
            return answer
        else:
            form = dict(_HIDDEN.findall(answer.text)) | {"login": "Ada.L", "password": "any"}
            action = _ACTION.search(answer.text)
            assert action is not None, answer.text
            answer = browser.post(urljoin(str(answer.url), unescape(action[1])), data=form)
    raise AssertionError("The provider never came back")


@pytest.mark.slow
def test_user_signs_in_with_a_real_provider(package: Path, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with provider(package, f"{url}{PAGE}/oidc/callback") as issuer:
        words = ("--port", str(port), "--oidc-issuer", issuer, "--oidc-client-id", "prime")
        env = {"PRIME_HUB_OIDC_CLIENT_SECRET": SECRET}
        served = serve(tmp_path / "hub", *words, "--oidc-domains", "corp.example", env=env)
        with (
            served as hub,
            hub.client("") as client,
            httpx.Client(trust_env=False, timeout=30) as browser,
        ):
            login = begin_at(client)
            page = sign_in(browser, url, login.code)
            assert "for the first time" in page.text
            assert 'value="ada-l"' in page.text
            form = {"code": login.code, "answer": "create", "user": "ada-l"}
            assert "logged in as <b>ada-l</b>" in browser.post(f"{url}{PAGE}", data=form).text
            assert slug_of(client, login.key()) == "ada-l"
            # The provider knows the browser: it asks nothing again, nor does the hub.
            again = begin_at(client)
            assert "<b>ada-l</b> here" in sign_in(browser, url, again.code).text
            browser.post(f"{url}{PAGE}", data={"code": again.code, "answer": "approve"})
            assert slug_of(client, again.key()) == "ada-l"
            assert SECRET not in hub.err.read_text(encoding="utf-8")


def sign_in(browser: httpx.Client, url: str, code: str) -> httpx.Response:
    """The page of a login after signing in."""
    begun = browser.get(f"{url}{PAGE}/oidc", params={"code": code})
    return follow(browser, begun, f"{url}{PAGE}?")


def slug_of(client: httpx.Client, key: str) -> str:
    """Whose key it is."""
    headers = {"authorization": f"Bearer {key}"}
    return str(data(client.get(WHOAMI, headers=headers))["slug"])
