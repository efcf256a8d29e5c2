"""The page of an evaluation on a hub while samples are pushed, in Chromium."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.site import samples, serve_site
from tests.browser.watched import Visit
from tests.hub.evaluating import finalize, made, push

pytestmark = pytest.mark.slow


def test_samples_of_an_evaluation_that_is_pushed_arrive_by_themselves(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    every = samples(5)
    with serve_site(tmp_path) as site, site.client("ada") as ada:
        evaluation = made(ada, name="goes on", is_public=True)
        window = browse(site.url)
        page = window.open(f"/dashboard/evaluations/{evaluation}")
        rows = page.locator("table.examples tbody tr")
        expect(page.get_by_text("No rollout has finished yet")).to_be_visible()
        page.evaluate("window.stayed = true")
        push(ada, evaluation, every[:4])
        expect(rows).to_have_count(2)
        expect(page.get_by_text("Download")).to_be_visible()
        page.locator(".dots a").first.focus()
        push(ada, evaluation, every[4:])
        expect(rows).to_have_count(5)
        expect(page.locator(".dots a").first).to_be_focused()
        finalize(ada, evaluation)
        expect(page.get_by_text("completed", exact=True)).to_be_visible()
        assert page.evaluate("window.stayed")
