"""Signing browsers in and out, and the forms that only they may send."""

from pathlib import Path

import pytest

from prime_cli.hub.services.key_management import list_keys, revoke_key
from prime_cli.hub.services.logins import MOST_FAILURES
from prime_cli.hub.services.takedowns import take_down
from prime_cli.wire.accounts import NewTakedown
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push
from tests.hub.routes.browsing import Browser, open_browser, signed_in

ACCOUNT = "/dashboard/account"


def test_a_key_signs_a_browser_in_until_it_signs_out(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    page = browser.get(ACCOUNT)
    assert page.status_code == 200
    assert "signed in as <b>ada</b>" in page.text
    assert browser.send("/logout", ACCOUNT).headers["location"] == "/"
    assert browser.get(ACCOUNT).headers["location"] == "/login?next=%2Fdashboard%2Faccount"


def test_the_cookie_is_for_this_site_and_no_script(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    browser = open_browser(accounts_hub)
    told = browser.sign_in(accounts_hub.key("ada")).headers.get_list("set-cookie")
    cookie = next(each for each in told if each.startswith("prime_session_80="))
    for flag in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert flag in cookie
    assert "Domain" not in cookie


def test_with_tls_the_cookie_is_for_this_host_alone(accounts_hub: AccountsHub) -> None:
    object.__setattr__(accounts_hub.hub.settings, "public_url", "https://hub.local")
    told = open_browser(accounts_hub).get("/login").headers["set-cookie"]
    assert told.startswith("__Host-prime_visitor=")
    assert "Secure" in told


def test_a_wrong_key_is_told_so_and_guessing_is_stopped(accounts_hub: AccountsHub) -> None:
    browser = open_browser(accounts_hub)
    for _ in range(MOST_FAILURES):
        answer = browser.sign_in("prime_sk_wrong")
        assert answer.status_code == 401
        assert "Unknown or revoked API key" in answer.text
    assert browser.sign_in("prime_sk_wrong").status_code == 429


@pytest.mark.parametrize("given", [{}, {"form_token": ""}, {"form_token": "0" * 64}])
def test_a_form_without_the_token_of_its_browser_does_nothing(
    accounts_hub: AccountsHub, given: dict[str, str]
) -> None:
    browser = signed_in(accounts_hub, "ada")
    for path in ("/dashboard/tokens", "/logout"):
        assert browser.client.post(path, data=given).status_code == 403, path
    assert browser.get(ACCOUNT).status_code == 200
    assert [key.name for key in list_keys(accounts_hub.hub, OPERATOR, "ada")] == ["", ""]
    visitor = open_browser(accounts_hub)
    key = accounts_hub.key("ada")
    refused = visitor.client.post("/login", data={"by": "key", "key": key, **given})
    assert refused.status_code == 403
    assert "prime_session_80" not in visitor.client.cookies


def test_the_token_of_another_browser_is_refused(accounts_hub: AccountsHub) -> None:
    ada, eve = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "eve")
    stolen = {"form_token": eve.token(ACCOUNT), "name": "x"}
    assert ada.client.post("/dashboard/tokens", data=stolen).status_code == 403


def test_another_site_sends_no_form(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    form = {"form_token": browser.token(ACCOUNT), "name": "x"}
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ):
        answer = browser.client.post("/dashboard/tokens", data=form, headers=headers)
        assert answer.status_code == 403, headers


def test_a_cookie_that_was_planted_is_never_a_session(accounts_hub: AccountsHub) -> None:
    browser = open_browser(accounts_hub)
    browser.client.cookies.set("prime_session_80", "planted", domain="hub.local")
    accounts_hub.user("ada")
    browser.sign_in(accounts_hub.key("ada"))
    fresh = [each.value for each in browser.client.cookies.jar if "session" in each.name]
    assert fresh
    again = open_browser(accounts_hub)
    again.client.cookies.set("prime_session_80", "planted", domain="hub.local")
    assert again.get(ACCOUNT).status_code == 303


def test_signing_in_again_ends_the_session_before(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    before = browser.client.cookies["prime_session_80"]
    form = {"form_token": visitor_token(accounts_hub, browser), "by": "key"}
    browser.client.post("/login", data={**form, "key": accounts_hub.key("ada")})
    assert browser.client.cookies["prime_session_80"] != before
    old = open_browser(accounts_hub)
    old.client.cookies.set("prime_session_80", before, domain="hub.local")
    assert old.get(ACCOUNT).status_code == 303


def visitor_token(accounts_hub: AccountsHub, browser: Browser) -> str:
    """What the form to sign in holds, in a browser that is signed in already."""
    visitor = open_browser(accounts_hub)
    token = visitor.token("/login")
    name = "prime_visitor_80"
    browser.client.cookies.set(name, visitor.client.cookies[name], domain="hub.local")
    return token


def test_a_session_ends_when_its_key_is_revoked(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    for key in list_keys(accounts_hub.hub, OPERATOR, "ada"):
        revoke_key(accounts_hub.hub, OPERATOR, key.id)
    assert browser.get(ACCOUNT).status_code == 303


def test_a_suspended_user_is_told_why(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    take_down(accounts_hub.hub, OPERATOR, NewTakedown("ada", "spam"))
    page = browser.get("/dashboard/tokens")
    assert page.status_code == 403
    assert "spam" in page.text


def test_on_a_hub_for_members_a_suspended_user_sees_nothing(tmp_path: Path) -> None:
    hub = AccountsHub(tmp_path, settings={"members_only": True})
    browser = signed_in(hub, "ada")
    assert browser.get("/").status_code == 200
    take_down(hub.hub, OPERATOR, NewTakedown("ada", "spam"))
    for path in ("/", "/dashboard/account", "/dashboard/environments/ada/word"):
        page = browser.get(path)
        assert page.status_code == 403, path
        assert "suspended by an admin of this hub: spam" in page.text


def test_waiting_too_often_keeps_the_login_of_the_browser(accounts_hub: AccountsHub) -> None:
    waiting, guesser = open_browser(accounts_hub), open_browser(accounts_hub)
    waiting.send("/login", "/login", by="code")
    for _ in range(MOST_FAILURES + 1):
        guesser.client.cookies.set("prime_login_80", "INVENTED.x", domain="hub.local")
        last = guesser.get("/login/code")
    assert last.status_code == 429
    assert waiting.get("/login/code").status_code == 429
    assert "prime_login_80" in waiting.client.cookies


def test_the_api_takes_no_cookie(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    assert browser.get("/api/v1/user/whoami").status_code == 401
    Push(accounts_hub.client(accounts_hub.key("ada")), "quiet", visibility="PRIVATE").run()
    for path in (f"{HUB}/ada/quiet/@latest", "/ada/quiet/simple/", "/ada/simple/quiet/"):
        assert browser.get(path).status_code == 404, path


def test_pages_show_what_is_private_to_its_owner_alone(accounts_hub: AccountsHub) -> None:
    ada, eve = signed_in(accounts_hub, "ada"), signed_in(accounts_hub, "eve")
    Push(accounts_hub.client(accounts_hub.key("ada")), "quiet", visibility="PRIVATE").run()
    page = "/dashboard/environments/ada/quiet"
    assert ada.get(page).status_code == 200
    assert "ada/quiet" in ada.get("/").text
    for other in (eve, open_browser(accounts_hub)):
        assert other.get(page).status_code == 404
        assert "ada/quiet" not in other.get("/").text


def test_a_page_that_is_missing_knows_who_is_signed_in(accounts_hub: AccountsHub) -> None:
    accept = {"accept": "text/html"}
    known = signed_in(accounts_hub, "ada").get("/dashboard/nowhere", headers=accept)
    assert known.status_code == 404
    assert "Without signing in" not in known.text
    assert "You are signed in as <code>" in known.text
    assert ">ada</a>" in known.text
    unknown = open_browser(accounts_hub).get("/dashboard/nowhere", headers=accept)
    assert "Without signing in" in unknown.text
    assert "Sign in, and come back here</a>" in unknown.text


def test_an_address_that_is_no_page_leaves_open_who_is_signed_in(accounts_hub: AccountsHub) -> None:
    ada = signed_in(accounts_hub, "ada")
    text = ada.get("/nowhere", headers={"accept": "text/html"}).text
    assert "ign in" not in text
    assert '"/dashboard/account">Account</a>' in text
    assert ">ada</a>" in ada.get("/docs").text


def test_only_pages_of_this_hub_are_gone_on_to(accounts_hub: AccountsHub) -> None:
    browser = signed_in(accounts_hub, "ada")
    for path, onward in {
        "/dashboard/tokens?x=1": "/dashboard/tokens?x=1",
        "//evil.example": ACCOUNT,
        "https://evil.example/": ACCOUNT,
        "/\\evil.example": ACCOUNT,
        "/login": ACCOUNT,
        "/logout": ACCOUNT,
    }.items():
        assert browser.get("/login", params={"next": path}).headers["location"] == onward


def test_a_code_that_is_approved_in_another_browser_signs_in(accounts_hub: AccountsHub) -> None:
    ada, new = signed_in(accounts_hub, "ada"), open_browser(accounts_hub)
    assert new.send("/login", "/login", by="code").headers["location"] == "/login/code"
    waiting = new.get("/login/code")
    assert waiting.headers["refresh"]
    code = waiting.text.split('<p class="code">')[1][:8]
    page = f"/dashboard/tokens/challenge?code={code}"
    approved = ada.send("/dashboard/tokens/challenge", page, code=code, answer="session")
    assert "logged in as <b>ada</b>" in approved.text
    assert new.get("/login/code").headers["location"] == ACCOUNT
    assert "signed in as <b>ada</b>" in new.get(ACCOUNT).text
    assert "may not create keys" in new.get("/dashboard/tokens").text


@pytest.mark.parametrize(
    ("asked", "onward"),
    [
        ("/dashboard/environments/ada/word?tab=a;b,c.d", None),
        ("//evil.example", ACCOUNT),
        ("https://evil.example/", ACCOUNT),
        (f"/dashboard/tokens?x={'x' * 5_000}", ACCOUNT),
    ],
)
def test_signing_in_with_a_code_leads_back_to_the_page_that_asked(
    accounts_hub: AccountsHub, asked: str, onward: str | None
) -> None:
    ada, new = signed_in(accounts_hub, "ada"), open_browser(accounts_hub)
    new.send("/login", "/login", by="code", next=asked)
    approve(ada, new)
    assert new.get("/login/code").headers["location"] == (onward or asked)


def test_a_cookie_that_was_planted_leads_to_no_other_site(accounts_hub: AccountsHub) -> None:
    ada, new = signed_in(accounts_hub, "ada"), open_browser(accounts_hub)
    new.send("/login", "/login", by="code", next="/dashboard/tokens")
    approve(ada, new)
    begun = new.client.cookies["prime_login_80"]
    new.client.cookies.clear()
    planted = begun.rpartition(".")[0] + ".%2F%2Fevil.example"
    new.client.cookies.set("prime_login_80", planted, domain="hub.local")
    assert new.get("/login/code").headers["location"] == ACCOUNT


def test_a_refused_code_is_asked_again_for_the_same_page(accounts_hub: AccountsHub) -> None:
    ada, new = signed_in(accounts_hub, "ada"), open_browser(accounts_hub)
    new.send("/login", "/login", by="code", next="/dashboard/tokens")
    approve(ada, new, answer="refuse")
    assert 'name="next" value="/dashboard/tokens"' in new.get("/login/code").text


def approve(by: Browser, new: Browser, answer: str = "session") -> None:
    """Decide about the code that the browser `new` shows, where `by` is signed in."""
    code = new.get("/login/code").text.split('<p class="code">')[1][:8]
    path = "/dashboard/tokens/challenge"
    sent = by.send(path, f"{path}?code={code}", code=code, answer=answer)
    assert sent.status_code == 200, sent.text


def test_approving_by_session_needs_the_token_of_the_form(accounts_hub: AccountsHub) -> None:
    ada, new = signed_in(accounts_hub, "ada"), open_browser(accounts_hub)
    new.send("/login", "/login", by="code")
    code = new.get("/login/code").text.split('<p class="code">')[1][:8]
    form = {"code": code, "answer": "session"}
    assert ada.client.post("/dashboard/tokens/challenge", data=form).status_code == 403
    assert new.get("/login/code").status_code == 200
