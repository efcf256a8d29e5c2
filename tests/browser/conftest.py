"""Chromium, a hub to look at, and axe-core."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import Browser

from tests.browser.site import Site, serve_site
from tests.browser.watched import Visit, launch, visit
from tests.helpers.npm import install_npm_package


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, which checks a page for what keeps people from using it."""
    modules = install_npm_package(tmp_path_factory.mktemp("axe") / "npm", "axe-core@4")
    return (modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests of this process; what a test adds, it names after itself."""
    with serve_site(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: while Playwright runs, this thread can run no other event loop."""
    with launch() as launched:
        yield launched


@pytest.fixture
def browse(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens windows, as `visit` does; the test fails if anything goes wrong in one of them."""
    visits: list[Visit] = []

    def open_window(url: str, **options: object) -> Visit:
        visits.append(partial(visit, browser, url)(**options))  # type: ignore[arg-type]
        return visits[-1]

    yield open_window
    problems = [problem for each in visits for problem in each.problems]
    for each in visits:
        each.context.close()
    assert problems == []
