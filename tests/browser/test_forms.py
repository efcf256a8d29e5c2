"""The pages that a form or a failure leads to, some of them once: fit for everybody, too."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from prime_cli.hub.context import Caller
from prime_cli.hub.services.invitations import invite
from prime_cli.wire.invitations import JOIN_PAGE, NewInvitation
from tests.browser.site import Site
from tests.browser.test_account import HIDDEN, sign_in, team
from tests.browser.test_login import start_login
from tests.browser.watched import NARROW, WIDE, Scheme, Visit

__all__ = ["team"]

pytestmark = pytest.mark.slow

USERS = "/dashboard/hub/users"
BOTH = pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])


@pytest.fixture
def look(axe: str) -> Iterator[Callable[[Visit, str], None]]:
    """Looks at the page that is open; what is wrong with one of them fails the test at its end."""
    wrong: list[str] = []

    def look_at(window: Visit, name: str) -> None:
        window.picture(name)
        wrong.extend(window.faults(name, axe))

    yield look_at
    assert wrong == []


Look = Callable[[Visit, str], None]


@BOTH
def test_logins_of_clients(
    site: Site, browse: Callable[..., Visit], look: Look, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    window.expected.add(404)
    for answer in ("Approve", "Refuse"):
        login, path = start_login(site.url)
        with login:
            page = window.open(path)
            look(window, f"login-approval-{answer}")
            if page.get_by_label("API key").count():
                page.get_by_label("API key").fill(site.keys["ada"])
            page.get_by_role("button", name=answer).click()
            page.get_by_text(re.compile("logged in as ada|is not logged in")).wait_for()
            look(window, f"login-{answer}")
            login.communicate(timeout=60)
    window.open("/dashboard/tokens/challenge?code=AAAAAAAA")
    look(window, "login-unknown-code")


@BOTH
def test_a_browser_signs_in_by_a_code_that_another_approves(
    site: Site, browse: Callable[..., Visit], look: Look, scheme: Scheme, width: int
) -> None:
    ours = browse(site.url, scheme=scheme, width=width)
    page = ours.open("/login")
    page.get_by_role("button", name="Get a code").click()
    look(ours, "sign-in-waiting")
    code = page.locator(".code").inner_text()
    theirs = browse(site.url, scheme=scheme, width=width)
    sign_in(theirs, site.keys["bob"], "/dashboard/account")
    other = theirs.open(f"/dashboard/tokens/challenge?code={code}")
    look(theirs, "login-approval-signed-in")
    other.get_by_role("button", name="Approve").click()
    page.wait_for_url("**/dashboard/account")
    expect(page.get_by_text("signed in as bob")).to_be_visible()
    look(ours, "account-by-code")
    ours.open("/dashboard/tokens")
    look(ours, "tokens-not-managed")


@BOTH
def test_what_is_shown_once(
    site: Site, browse: Callable[..., Visit], look: Look, team: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    window.expected.add(404)
    page = sign_in(window, site.keys["ada"], "/dashboard/tokens")
    page.get_by_label("What it is for").fill("once")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status")).to_be_visible()
    look(window, "token-made")
    page = window.open(team)
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_role("status")).to_contain_text("/join#")
    look(window, "invitation-made")
    page.get_by_label("User", exact=True).fill("nobody-here")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text("nobody-here")
    expect(page.get_by_role("heading", level=1)).to_have_text("The lab")
    look(window, "team-problem")
    _join(browse(site.url, scheme=scheme, width=width), look, _invite(site), f"new-{scheme}")


def _invite(site: Site) -> str:
    """The address by which somebody new joins the team."""
    made = invite(site.hub, Caller.operator(), NewInvitation(team="lab"))
    return f"{site.url}{JOIN_PAGE}#{made.link.partition('#')[2]}"


def _join(window: Visit, look: Look, address: str, user: str) -> None:
    window.expected.add(422)
    page: Page = window.open("/join")
    page.get_by_label("The address").fill("https://elsewhere")
    page.get_by_role("button", name="Sign up").click()
    page.locator(".problem").wait_for()
    look(window, "join-problem")
    page.get_by_label("The address").fill(address)
    page.get_by_label("Your new user name").fill(user)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    look(window, "joined")


@BOTH
def test_users_are_created_and_suspended(
    site: Site, browse: Callable[..., Visit], look: Look, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    page = sign_in(window, site.served.key, USERS)
    page.get_by_label("User", exact=True).fill(f"eve-{scheme}")
    page.get_by_role("button", name="Create the user").click()
    expect(page.get_by_role("status")).to_contain_text("is a user of this hub now")
    look(window, "user-made")
    page = window.open(USERS)
    line = page.get_by_role("row").filter(has_text=f"eve-{scheme}")
    line.get_by_text("Suspend", exact=True).click()
    look(window, "user-asked")
    line.get_by_label("Why; the user is told").fill("Spam")
    line.get_by_role("button", name=f"Suspend eve-{scheme}").click()
    expect(line.get_by_role("button", name="Restore")).to_be_visible()
    look(window, "user-suspended")


@BOTH
def test_what_is_not_there_or_not_allowed(
    site: Site, browse: Callable[..., Visit], look: Look, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    window.expected |= {403, 404}
    page = window.open("/nothing/here")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    look(window, "hub-not-found")
    window.open(HIDDEN)
    look(window, "hub-not-found-signed-out")
    page = sign_in(window, site.keys["bob"], USERS)
    expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")
    look(window, "hub-not-allowed")
