"""A browser at a hub with accounts: it keeps cookies, and sends the forms that it is shown."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx

from tests.hub.accounts_hub import URL, AccountsHub

_TOKEN = re.compile(r'name="form_token" value="([^"]*)"')


@dataclass
class Browser:
    """`client` has the cookies."""

    client: httpx.Client

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.client.get(path, **more)

    def token(self, path: str) -> str:
        """What the forms of a page hold."""
        found = _TOKEN.search(self.get(path).text)
        assert found is not None, path
        return unescape(found[1])

    def send(self, path: str, shown_on: str, **fields: str) -> httpx.Response:
        """A form of the page `shown_on`, sent to `path`."""
        return self.client.post(path, data={"form_token": self.token(shown_on), **fields})

    def sign_in(self, key: str) -> httpx.Response:
        return self.send("/login", "/login", by="key", key=key)


def open_browser(accounts_hub: AccountsHub) -> Browser:
    """One that nobody has signed in."""
    return Browser(httpx.Client(transport=accounts_hub.transport(), base_url=URL))


def signed_in(accounts_hub: AccountsHub, slug: str, scope: str = "admin") -> Browser:
    """One that a new user has signed in with a key of this scope."""
    accounts_hub.user(slug)
    browser = open_browser(accounts_hub)
    answer = browser.sign_in(accounts_hub.key(slug, scope=scope))
    assert answer.status_code == 303, answer.text
    return browser
