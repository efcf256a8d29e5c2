"""Logins that are approved by signing in with a provider, which answers over a socket."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.client.api.single_requests import fetch
from prime_cli.hub.identity import SignInSettings
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.key_management import revoke_all
from prime_cli.hub.services.takedowns import take_down
from prime_cli.hub.services.users import remove_user
from prime_cli.wire.accounts import NewTakedown
from tests.helpers.openid_provider import OpenIdProvider, openid_provider
from tests.hub.accounts_hub import OPERATOR, URL, AccountsHub, actions
from tests.hub.pushing import Push, data
from tests.hub.routes.browsing import open_browser
from tests.hub.routes.test_logins import PAGE, WHOAMI, Login, begin

__all__ = ["openid_provider"]


def open_hub(folder: Path, provider: OpenIdProvider, **choices: Any) -> AccountsHub:
    provider.claims = {"sub": "1", "preferred_username": "Ada.L@corp", "email": "ada@corp.example"}
    sign_in = SignInSettings(provider.url, "prime", "Corp", "the-secret", **choices)
    hub = AccountsHub(folder, settings={"sign_in": sign_in, "fetch": fetch})
    provider.clock = lambda: hub.clock().timestamp()
    return hub


class Browser:
    """A browser at the page of a login: its cookies, and what it shows."""

    def __init__(self, hub: AccountsHub, login: Login) -> None:
        self.hub, self.login = hub, login
        self.client = hub.client()

    def open(self) -> httpx.Response:
        return self.client.get(PAGE, params={"code": self.login.code})

    def sign_in(self) -> httpx.Response:
        """Follow the link, the provider's redirect back, and that to the page."""
        return self.come_back(self.leave())

    def leave(self) -> str:
        """Where the provider sends the browser back to."""
        to = self.client.get(f"{PAGE}/oidc", params={"code": self.login.code})
        assert to.status_code == 303, to.text
        return httpx.get(to.headers["location"], trust_env=False).headers["location"]

    def come_back(self, url: str) -> httpx.Response:
        assert url.startswith(URL)
        answer = self.client.get(url)
        if answer.status_code != 303:
            return answer
        return self.client.get(answer.headers["location"])

    def press(self, answer: str, **fields: str) -> httpx.Response:
        form = {"code": self.login.code, "answer": answer, **fields}
        return self.client.post(PAGE, data=form)


def arrive(hub: AccountsHub) -> Browser:
    return Browser(hub, begin(hub))


def test_new_user_signs_in_and_a_client_is_let_in(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    browser = arrive(hub)
    assert "Sign in with Corp" in browser.open().text
    page = browser.sign_in().text
    assert "ada@corp.example" in page
    assert 'value="ada-l"' in page
    assert browser.login.poll().json() == {"result": None}
    assert "logged in as <b>ada-l</b>" in browser.press("create", user="ada-l").text
    client = hub.client(browser.login.key())
    assert data(client.get(WHOAMI))["slug"] == "ada-l"
    Push(client).run()
    entries = actions(list_entries(hub.hub))[:3]
    assert entries == [
        ("ada-l", "user.create", "ada-l"),
        ("ada-l", "identity.connect", "ada-l"),
        ("ada-l", "login.approve", "ada-l"),
    ]


def test_request_has_pkce_state_and_nonce_and_the_secret_only_at_the_token_endpoint(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    arrive(open_hub(folder, openid_provider)).sign_in()
    asked, sent = openid_provider.asked, openid_provider.tokens[0]
    assert asked["code_challenge_method"] == "S256"
    assert {"code_challenge", "state", "nonce"} <= asked.keys()
    assert asked["redirect_uri"] == f"{URL}{PAGE}/oidc/callback" == sent["redirect_uri"]
    assert "the-secret" not in str(asked)
    assert sent["authorization"].startswith("Basic ")


def test_known_user_only_approves(folder: Path, openid_provider: OpenIdProvider) -> None:
    hub = open_hub(folder, openid_provider)
    first = arrive(hub)
    first.sign_in()
    first.press("create", user="countess")
    # The provider's name and address may change: the subject does not.
    openid_provider.claims |= {"preferred_username": "other", "email": "new@corp.example"}
    second = arrive(hub)
    page = second.sign_in().text
    assert "<b>countess</b>" in page
    assert 'name="key"' not in page
    assert "logged in as <b>countess</b>" in second.press("approve").text


def test_name_or_address_of_a_user_gives_no_right_to_it(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    hub.user("ada-l")
    browser = arrive(hub)
    assert 'value="ada-l-2"' in browser.sign_in().text
    refused = browser.press("create", user="ada-l")
    assert refused.status_code == 409
    assert "already taken" in refused.text
    assert "logged in as <b>ada-l-2</b>" in browser.press("create", user="ada-l-2").text


def test_name_of_a_removed_user_is_not_taken_over(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    first = arrive(hub)
    first.sign_in()
    first.press("create", user="ada-l")
    remove_user(hub.hub, OPERATOR, "ada-l")
    assert 'value="ada-l-2"' in arrive(hub).sign_in().text


def test_user_connects_with_a_key_that_may_manage(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider, sign_up=False)
    hub.user("grace")
    browser = arrive(hub)
    assert 'name="user"' not in browser.sign_in().text
    assert browser.press("create", user="ada-l").status_code == 403
    assert browser.press("connect", key=hub.key("grace")).status_code == 403
    assert browser.press("connect", key="prime_sk_wrong").status_code == 401
    for limits in ({"owner": "grace"}, {"seconds": 3600.0}):
        limited = hub.key("grace", scope="admin", **limits)
        assert browser.press("connect", key=limited).status_code == 403
    key = hub.key("grace", scope="admin")
    assert "logged in as <b>grace</b>" in browser.press("connect", key=key).text
    again = arrive(hub)
    assert "<b>grace</b>" in again.sign_in().text
    revoke_all(hub.hub, OPERATOR, "grace")
    assert "<b>grace</b>" not in arrive(hub).sign_in().text


def test_key_still_approves_and_refusing_needs_no_sign_in(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    hub.user("grace")
    browser = arrive(hub)
    assert "logged in as <b>grace</b>" in browser.press("approve", key=hub.key("grace")).text
    refused = arrive(hub)
    assert "Refused" in refused.press("refuse").text


def test_return_to_another_browser_is_refused(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    attacker, victim = arrive(hub), arrive(hub)
    url = attacker.leave()
    assert victim.come_back(url).status_code == 403
    victim.leave()
    assert victim.come_back(url).status_code == 403
    victim.leave()
    assert victim.come_back(f"{url.partition('?')[0]}?code=1&state=é").status_code == 403
    assert not openid_provider.tokens


def test_sign_in_for_one_login_approves_no_other(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    browser = arrive(hub)
    browser.sign_in()
    browser.login = begin(hub)
    assert browser.press("create", user="ada-l").status_code == 403
    assert browser.press("approve").status_code == 401
    assert browser.login.poll().json() == {"result": None}


def test_sign_in_ends_after_ten_minutes(folder: Path, openid_provider: OpenIdProvider) -> None:
    hub = open_hub(folder, openid_provider)
    browser = arrive(hub)
    browser.sign_in()
    hub.clock.wait(minutes=10)
    browser.login = begin(hub)
    assert "Sign in with Corp" in browser.open().text


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["prime", "another"]},
        {"iss": "https://other.example"},
        {"exp": 1},
        {"sub": None},
        {"azp": "another"},
    ],
)
def test_token_that_is_not_for_this_sign_in_is_refused(
    changes: dict[str, Any], folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    openid_provider.token_changes = changes
    answer = arrive(hub).sign_in()
    assert answer.status_code == 403
    assert "refused" in answer.text


@pytest.mark.parametrize("page", [b"<html>Too many requests", b"", b"[]"])
def test_token_endpoint_that_answers_with_a_page_is_a_failure_of_the_provider(
    page: bytes, folder: Path, openid_provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = arrive(open_hub(folder, openid_provider))
    monkeypatch.setattr(openid_provider, "answer_token", lambda *_: (429, page))
    assert browser.sign_in().status_code in (403, 502, 503)


def test_refusal_of_the_provider_is_shown_as_text(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    browser = arrive(open_hub(folder, openid_provider))
    url = browser.leave().partition("?")[0]
    state = openid_provider.asked["state"]
    answer = browser.client.get(
        url, params={"state": state, "error": "access_denied", "error_description": "<b>no</b>"}
    )
    assert answer.status_code == 403
    assert "&lt;b&gt;no&lt;/b&gt;" in answer.text


@pytest.mark.parametrize(
    ("choices", "claims", "status"),
    [
        ({"domains": frozenset({"corp.example"})}, {"email_verified": True}, 200),
        ({"domains": frozenset({"corp.example"})}, {}, 403),
        ({"domains": frozenset({"example"})}, {"email_verified": True}, 403),
        ({"groups": frozenset({"rl"})}, {"groups": ["all", "rl"]}, 200),
        ({"groups": frozenset({"rl"})}, {"groups": "rl"}, 403),
        ({"groups": frozenset({"rl"})}, {}, 403),
    ],
)
def test_only_allowed_domains_and_groups_sign_in(
    choices: dict[str, Any],
    claims: dict[str, Any],
    status: int,
    folder: Path,
    openid_provider: OpenIdProvider,
) -> None:
    hub = open_hub(folder, openid_provider, **choices)
    openid_provider.claims |= claims
    assert arrive(hub).sign_in().status_code == status


def test_keys_of_logins_end_if_the_hub_says_so(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider, key_days=1)
    browser = arrive(hub)
    browser.sign_in()
    browser.press("create", user="ada-l")
    client = hub.client(browser.login.key())
    assert client.get(WHOAMI).status_code == 200
    hub.clock.wait(days=1)
    assert client.get(WHOAMI).status_code == 401


def test_a_browser_signs_in_for_itself_with_the_provider(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider)
    browser = open_browser(hub)
    assert "Sign in with Corp" in browser.get("/login").text
    asked = {"by": "provider", "next": "/dashboard/tokens?from=2"}
    to = browser.send("/login", "/login", **asked).headers["location"]
    code = to.rpartition("=")[2]
    back = httpx.get(browser.get(to).headers["location"], trust_env=False).headers["location"]
    page = browser.get(back).headers["location"]
    assert "ada@corp.example" in browser.get(page).text
    form = {"code": code, "answer": "create", "user": "ada-l"}
    assert browser.client.post(PAGE, data=form).headers["location"] == "/login/code"
    assert browser.get("/login/code").headers["location"] == asked["next"]
    assert "signed in as <b>ada-l</b>" in browser.get("/dashboard/account").text


def test_hub_without_a_provider_offers_none(accounts_hub: AccountsHub) -> None:
    browser = arrive(accounts_hub)
    assert "Sign in with" not in browser.open().text
    assert browser.client.get(f"{PAGE}/oidc", params={"code": "x"}).status_code == 422


def test_cookie_is_for_the_page_alone_and_hides_what_it_holds(
    folder: Path, openid_provider: OpenIdProvider
) -> None:
    browser = arrive(open_hub(folder, openid_provider))
    to = browser.client.get(f"{PAGE}/oidc", params={"code": browser.login.code})
    cookie = to.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Path={PAGE}" in cookie
    assert to.headers["location"].partition("state=")[2][:43] not in cookie


def test_suspended_user_approves_nothing(folder: Path, openid_provider: OpenIdProvider) -> None:
    hub = open_hub(folder, openid_provider)
    first = arrive(hub)
    first.sign_in()
    first.press("create", user="ada-l")
    take_down(hub.hub, OPERATOR, NewTakedown("ada-l", "left"))
    second = arrive(hub)
    second.sign_in()
    assert second.press("approve").status_code == 403
    assert second.login.poll().json() == {"result": None}


@pytest.mark.parametrize(("subject", "status"), [("1", 200), ("2", 403)])
def test_claims_of_the_userinfo_endpoint_count_if_they_are_of_that_user(
    subject: str, status: int, folder: Path, openid_provider: OpenIdProvider
) -> None:
    hub = open_hub(folder, openid_provider, groups=frozenset({"rl"}))
    metadata = openid_provider.documents["/.well-known/openid-configuration"]
    metadata["userinfo_endpoint"] = f"{openid_provider.url}/me"
    openid_provider.documents["/me"] = {"sub": subject, "groups": ["rl"]}
    assert arrive(hub).sign_in().status_code == status
