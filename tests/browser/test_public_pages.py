"""The pages that everybody sees, in Chromium."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from prime_cli.hub.app import ROUTERS, find_page_routers
from prime_cli.hub.urls import is_page
from prime_cli.wire.invitations import JOIN_PAGE
from tests.browser.site import Site
from tests.browser.test_account import ACCOUNT_PAGES, ADMIN_PAGES
from tests.browser.watched import NARROW, WIDE, Scheme, Visit

pytestmark = pytest.mark.slow


def pages(site: Site) -> dict[str, str]:
    """The addresses of public pages, by the name of their screenshots."""
    long = f"/dashboard/evaluations/{site.long}/samples/1"
    small, large = (f"evaluation={site.evaluations[each]}" for each in ("small-1b", "large-70b"))
    return {
        "catalogue": "/",
        "catalogue-empty": "/?search=nothing-has-this-name",
        "environment": "/dashboard/environments/ada/word",
        "environment-old": "/dashboard/environments/ada/word/@0.1.0",
        "environment-files": "/dashboard/environments/ada/word/@0.2.0/files",
        "environment-versions": "/dashboard/environments/ada/word/versions",
        "environment-evaluations": "/dashboard/environments/ada/word/evaluations",
        "environment-details": "/dashboard/environments/ada/word/details",
        "environment-details-old": "/dashboard/environments/ada/word/@0.1.0/details",
        "versions-compared": "/dashboard/environments/ada/word/versions?from=0.1.0&to=0.2.0",
        "file": "/dashboard/environments/ada/word/@0.2.0/files/word.py",
        "evaluation": f"/dashboard/evaluations/{site.evaluations['large-70b']}",
        "evaluation-open": f"/dashboard/evaluations/{site.evaluations['large-70b']}?open=10",
        "rollout": f"/dashboard/evaluations/{site.evaluations['large-70b']}/samples/1",
        "rollout-later-turns": f"{long}?from=21",
        "rollout-tokens": f"{long}/tokens?at=/completion/0/logprobs",
        "evaluation-compare-with": f"/dashboard/compare?{small}",
        "evaluations-compared": f"/dashboard/compare?{small}&{large}",
        "evaluations-rollouts": f"/dashboard/compare/2.0?{small}&{large}",
        "login": "/dashboard/tokens/challenge",
        "join": "/join",
        "api": "/docs",
    }


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_every_page_is_fit_for_everybody(
    site: Site, browse: Callable[..., Visit], axe: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    wrong = []
    for name, path in pages(site).items():
        window.open(path)
        wrong += window.faults(name, axe)
        window.picture(name)
        # The other scheme and the other width only for somebody to look at.
        window.page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
        window.picture(name)
        window.page.emulate_media(color_scheme=scheme)
    assert wrong == []


NO_PAGES = {
    "/dashboard/environments/{owner}/{name}/@{version}/raw/{path:path}",
    "/dashboard/evaluations/{id}/events",
    "/dashboard/evaluations/{id}/download.{form}",
    "/dashboard/evaluations/{id}/samples/{number:int}/text",
    # They send the browser to a provider, and back from there.
    "/dashboard/tokens/challenge/oidc",
    "/dashboard/tokens/challenge/oidc/callback",
}


def test_every_page_of_a_hub_is_looked_at(site: Site) -> None:
    waiting = ("/login", "/login/code")  # in test_forms
    looked_at = {*pages(site).values(), *ACCOUNT_PAGES, *ADMIN_PAGES, *waiting}
    paths = {urlsplit(address).path for address in looked_at}
    unseen = {
        route.path
        for router in (*ROUTERS, *find_page_routers())
        for route in router.pages
        if "GET" in (route.methods or ())
        and (is_page(route.path) or route.path == JOIN_PAGE)
        and not any(map(route.path_regex.match, paths))
    }
    assert unseen == NO_PAGES
