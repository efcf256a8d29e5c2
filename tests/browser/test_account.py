"""What a signed-in user sees and does in Chromium, and what another user does not see."""

from collections.abc import Callable

import pytest
from msgspec import structs
from playwright.sync_api import Page, expect

from prime_cli.hub.context import Caller
from prime_cli.hub.services.key_management import list_keys
from prime_cli.pages.account import (
    AccountHome,
    AccountRecord,
    Cost,
    PodsPage,
    pods_page,
    sandboxes_page,
)
from prime_cli.pages.assets import PAGE_HEADERS
from prime_cli.pages.paging import Window
from prime_cli.pages.templates import Frame, NavigationLink, render
from prime_cli.pages.templates import Page as PrimePage
from prime_cli.wire.pods import Pod
from prime_cli.wire.sandboxes import Sandbox
from tests.browser.site import Site
from tests.browser.watched import NARROW, WIDE, Scheme, Visit

pytestmark = pytest.mark.slow

ACCOUNT = "/dashboard/account"
ACCOUNT_PAGES = (
    ACCOUNT,
    "/dashboard/account/environments",
    "/dashboard/tokens",
    "/dashboard/teams",
    "/dashboard/teams/lab",
    "/dashboard/secrets",
    "/dashboard/secrets/ada/word",
)
ADMIN_PAGES = (
    "/dashboard/hub/users",
    "/dashboard/hub/storage",
    "/dashboard/hub/audit",
    "/dashboard/hub/load",
    "/dashboard/pods",
    "/dashboard/sandboxes",
)
HIDDEN = "/dashboard/environments/ada/hidden"


def sign_in(window: Visit, key: str, onward: str) -> Page:
    """Open the page `onward`, which asks for a key first."""
    page = window.open(onward)
    page.get_by_label("Your API key for this hub").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"**{onward}")
    return page


@pytest.fixture(scope="module")
def team(site: Site) -> str:
    """The path of a team that ada manages and bob is in, with an invitation."""
    with site.served.client() as admin:
        new = {"slug": "lab", "members": ["ada:admin", "bob"], "name": "The lab"}
        admin.post("/api/v1/hub/teams", json=new).raise_for_status()
    return "/dashboard/teams/lab"


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_every_page_of_an_account_is_fit_for_everybody(
    site: Site, browse: Callable[..., Visit], axe: str, team: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    window.open("/login")
    wrong = window.faults("login", axe)
    window.picture("sign-in")
    sign_in(window, site.keys["ada"], ACCOUNT)
    assert team in ACCOUNT_PAGES
    for path in ACCOUNT_PAGES:
        window.open(path)
        wrong += fitness(window, path, axe)
    for path, page in RENTED.items():
        show(window, path, page)
        wrong += fitness(window, path, axe)
    assert wrong == []


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_every_page_of_an_admin_is_fit_for_everybody(
    site: Site, browse: Callable[..., Visit], axe: str, team: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    sign_in(window, site.served.key, "/dashboard/hub/users")
    wrong = []
    for path in ADMIN_PAGES:
        window.open(path)
        wrong += fitness(window, path, axe)
    assert wrong == []


def fitness(window: Visit, path: str, axe: str) -> list[str]:
    """What is wrong with the page at `path`, of which a screenshot is kept."""
    name = path.removeprefix("/dashboard/").replace("/", "-")
    window.picture(name)
    return window.faults(name, axe)


RENTED = {
    "/dashboard/pods/rented": pods_page(
        PodsPage(
            Window([Cost(Pod("1f2e3d4c", "A100_80GB", 2, "ACTIVE", "web", price_hr=2.0), 1.5)]),
            True,
        )
    ),
    "/dashboard/sandboxes/rented": sandboxes_page(
        Window(
            [
                Sandbox(
                    id="5b6a7988",
                    name="checker",
                    docker_image="python:3.11-slim",
                    labels=["ci"],
                    status="RUNNING",
                    started_at="2026-01-02T03:04:05Z",
                    idle_timeout_minutes=10,
                )
            ]
        ),
        here=True,
    ),
}
"""Pages of what this hub has no provider for, by addresses of their own."""


def show(window: Visit, path: str, page: PrimePage) -> None:
    """Open a page that the hub would serve at `path`."""
    account = AccountHome("token", (NavigationLink("/dashboard/pods", "Pods"),))
    record = AccountRecord(account, page.record)
    body = render(structs.replace(page, record=record), Frame(account.sections, path))
    window.context.route(
        f"**{path}",
        lambda route: route.fulfill(
            body=body, headers=dict(PAGE_HEADERS), content_type="text/html"
        ),
    )
    window.open(path)


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


def test_signing_in_leads_back_to_where_it_was_asked_for(
    site: Site, browse: Callable[..., Visit]
) -> None:
    window = browse(site.url)
    window.expected.add(404)
    page = window.open(HIDDEN)
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.get_by_label("Your API key for this hub").fill(site.keys["ada"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="ada/hidden")).to_be_visible()
    page = browse(site.url).open("/?search=word&sort=name")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Your API key for this hub").fill(site.keys["ada"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/?search=word&sort=name")


def test_signing_out_ends_the_session(site: Site, browse: Callable[..., Visit]) -> None:
    window = browse(site.url)
    page = sign_in(window, site.keys["bob"], ACCOUNT)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_load_state()
    window.open("/dashboard/tokens")
    expect(page.get_by_label("Your API key for this hub")).to_be_visible()
