"""What a signed-in user sees and does in Chromium, and what another user does not see."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from prime_cli.hub.context import Caller
from prime_cli.hub.services.key_management import list_keys
from tests.browser.site import Site
from tests.browser.watched import NARROW, WIDE, Scheme, Visit

pytestmark = pytest.mark.slow

ACCOUNT = "/dashboard/account"
HIDDEN = "/dashboard/environments/ada/hidden"


def sign_in(window: Visit, key: str, onward: str) -> Page:
    """Open the page `onward`, which asks for a key first."""
    page = window.open(onward)
    page.get_by_label("Your API key for this hub").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"**{onward}")
    return page


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_every_page_of_an_account_is_fit_for_everybody(
    site: Site, browse: Callable[..., Visit], axe: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    window.open("/login")
    wrong = window.faults("login", axe)
    window.picture("sign-in")
    sign_in(window, site.keys["ada"], "/dashboard/account")
    for name in ("account", "account/environments", "tokens", "teams", "secrets"):
        window.open(f"/dashboard/{name}")
        wrong += window.faults(name, axe)
        window.picture(name.replace("/", "-"))
    assert wrong == []


@pytest.mark.parametrize("javascript", [True, False])
def test_a_token_is_created_used_and_revoked(
    site: Site, browse: Callable[..., Visit], javascript: bool
) -> None:
    window = browse(site.url, javascript=javascript)
    page = sign_in(window, site.keys["ada"], "/dashboard/tokens")
    page.get_by_label("What it is for").fill(f"ci-{javascript}")
    page.get_by_role("button", name="Create").click()
    made = page.get_by_role("status").locator("pre").inner_text().strip()
    with site.client("ada") as client:
        client.headers["authorization"] = f"Bearer {made}"
        assert client.get("/api/v1/user/whoami").json()["data"]["slug"] == "ada"
        page = window.open("/dashboard/tokens")
        assert made not in page.content()
        line = page.get_by_role("row").filter(has_text=f"ci-{javascript}")
        line.get_by_text("Revoke", exact=True).click()
        line.get_by_role("button", name="Revoke it").click()
        expect(page.get_by_role("row").filter(has_text=f"ci-{javascript}")).to_have_count(0)
        assert client.get("/api/v1/user/whoami").status_code == 401


def test_another_user_sees_and_changes_nothing(site: Site, browse: Callable[..., Visit]) -> None:
    ours = browse(site.url)
    sign_in(ours, site.keys["ada"], ACCOUNT)
    assert "Nobody else's" in ours.open(HIDDEN).content()
    kept = list_keys(site.hub, Caller.operator(), "ada")
    theirs = browse(site.url)
    theirs.expected.add(404)
    page = sign_in(theirs, site.keys["bob"], ACCOUNT)
    expect(page.get_by_text("signed in as bob")).to_be_visible()
    for path in (HIDDEN, "/dashboard/secrets/ada/hidden", f"/dashboard/evaluations/{site.secret}"):
        expect(theirs.open(path).get_by_role("heading", name="Not found")).to_be_visible()
    assert "ada/hidden" not in theirs.open("/dashboard/account/environments").content()
    assert kept[0].prefix not in theirs.open("/dashboard/tokens").content()
    token = page.locator('input[name="form_token"]').first.get_attribute("value") or ""
    revoke = f"{site.url}/dashboard/tokens/{kept[0].id}/revoke"
    answer = page.request.post(revoke, form={"form_token": token}, headers={"origin": site.url})
    assert answer.status == 404
    assert list_keys(site.hub, Caller.operator(), "ada") == kept


def test_signing_out_ends_the_session(site: Site, browse: Callable[..., Visit]) -> None:
    window = browse(site.url)
    page = sign_in(window, site.keys["bob"], ACCOUNT)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_load_state()
    window.open("/dashboard/tokens")
    expect(page.get_by_label("Your API key for this hub")).to_be_visible()
