"""The pages that everybody sees, in Chromium."""

from collections.abc import Callable

import pytest

from tests.browser.site import Site
from tests.browser.watched import NARROW, WIDE, Scheme, Visit, violations

pytestmark = pytest.mark.slow


def pages(site: Site) -> dict[str, str]:
    """The addresses of public pages, by the name of their screenshots."""
    return {
        "catalogue": "/",
        "catalogue-empty": "/?search=nothing-has-this-name",
        "environment": "/dashboard/environments/ada/word",
        "file": "/dashboard/environments/ada/word/@0.2.0/files/word.py",
        "evaluation": f"/dashboard/evaluations/{site.evaluations['large-70b']}",
        "login": "/dashboard/tokens/challenge",
        "join": "/join",
        "api": "/docs",
    }


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_fit_for_everybody(
    site: Site, browse: Callable[..., Visit], axe: str, scheme: Scheme, width: int
) -> None:
    window = browse(site.url, scheme=scheme, width=width)
    wrong = []
    for name, path in pages(site).items():
        page = window.open(path)
        window.picture(name)
        wrong += [f"{name}: {each}" for each in violations(page, axe)]
        if (over := window.overflow()) > 0:
            wrong.append(f"{name}: {over} pixels wider than the window")
    assert wrong == []
