"""A page repeats of its address only what it has room for."""

from urllib.parse import quote

import httpx
import pytest

from prime_cli.hub.services.users import create_user
from prime_cli.hub.serving.monitoring import Metrics
from prime_cli.pages.paging import LARGEST_PAGE
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import Push
from tests.hub.routes.browsing import open_browser
from tests.pages.measuring import QUOTES

NAMES = """
    search tag owner kind sort cursor next code from to before user action target text reward step
    errors page columns_from evaluation run at indented force model version
""".split()
PATHS = """
    / /docs /login /dashboard/compare /dashboard/nowhere /dashboard/tokens/challenge
    /dashboard/environments/ada/word /dashboard/environments/ada/word/versions
    /dashboard/environments/ada/words/versions /dashboard/environments/ada/word/evaluations
    /dashboard/account /dashboard/account/environments /dashboard/tokens /dashboard/teams
    /dashboard/secrets /dashboard/hub/users /dashboard/hub/storage /dashboard/hub/audit
    /dashboard/hub/load
""".split()


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> list[httpx.Client]:
    """Those of an admin and of nobody, at a hub that counts what it answers."""
    hub = AccountsHub(tmp_path_factory.mktemp("hub") / "data")
    metrics = Metrics()
    for route in hub.app.routes:
        metrics.count(getattr(route, "path", "/"), "GET", 500, seconds=1e6, sent=1, received=1)
    hub.app.state.metrics = metrics.render
    hub.user("ada")
    Push(hub.client(hub.key("ada")), "word", visibility="PUBLIC").run()
    create_user(hub.hub, OPERATOR, "boss", admin=True)
    admin, nobody = open_browser(hub), open_browser(hub)
    admin.sign_in(hub.key("boss", scope="admin"))
    return [admin.client, nobody.client]


@pytest.mark.sample(6, "path")
@pytest.mark.parametrize("path", PATHS)
def test_a_long_address_makes_no_long_page(browsers: list[httpx.Client], path: str) -> None:
    short, long = quote(QUOTES * 1_950), quote(QUOTES * 20_000)
    addresses = [f"{path}?{name}={short}" for name in NAMES]
    addresses += [f"{path}?{name}={long}" for name in ("search", "next", "cursor", "code")]
    addresses += [f"{path.rstrip('/')}/{text}" for text in (short, long)]
    is_public = path in PATHS[:10]
    for address in addresses:
        answer = browsers[is_public].get(address)
        assert answer.status_code < 500, f"{address[:80]}: {answer.text[:500]}"
        assert len(answer.content) <= LARGEST_PAGE, f"{address[:80]}: {len(answer.content):,}"


def test_pages_that_show_every_route_are_bounded(browsers: list[httpx.Client]) -> None:
    for path, shown in (("/docs", "GET"), ("/dashboard/hub/load", "1,000,000,000")):
        page = browsers[0].get(path)
        assert page.text.count(shown) >= 50
        assert len(page.content) <= LARGEST_PAGE


def test_a_page_says_that_its_address_is_too_long(browsers: list[httpx.Client]) -> None:
    answer = browsers[1].get("/", params={"search": "x" * 6_000})
    assert answer.status_code == 422
    assert "The address is too long" in answer.text
