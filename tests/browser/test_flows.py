"""What people do on the public pages: search, follow links, and see what is theirs to see."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.site import Site, samples
from tests.browser.test_account import ACCOUNT, sign_in
from tests.browser.watched import NARROW, WIDE, Visit
from tests.hub.evaluating import finalize, made, push

pytestmark = pytest.mark.slow


def test_slash_leads_to_the_search_and_enter_finds(
    site: Site, browse: Callable[..., Visit]
) -> None:
    page = browse(site.url).open("/dashboard/environments/ada/sums")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("guess a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="ada/word")).to_be_visible()
    expect(page.get_by_role("link", name="ada/sums")).to_have_count(0)
    expect(page.get_by_role("searchbox")).to_have_value("guess a")


def test_results_follow_what_is_typed_and_chosen(site: Site, browse: Callable[..., Visit]) -> None:
    page = browse(site.url).open("/")
    expect(page.get_by_role("link", name="ada/sums")).to_be_visible()
    page.get_by_role("searchbox").press_sequentially("guess")
    expect(page.get_by_role("link", name="ada/sums")).to_have_count(0)
    expect(page.get_by_role("link", name="ada/word")).to_be_visible()
    page.wait_for_url("**/?search=guess&sort=updated")
    page.get_by_label("Sort by").select_option("name")
    page.wait_for_url("**/?search=guess&owner=&kind=&tag=&sort=name")
    expect(page.get_by_role("searchbox")).to_have_value("guess")


def test_tab_reaches_the_content_first(site: Site, browse: Callable[..., Visit]) -> None:
    page = browse(site.url).open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_only_a_table_that_can_be_scrolled_is_a_stop_of_the_tab_key(
    site: Site, browse: Callable[..., Visit]
) -> None:
    window = browse(site.url)
    page = window.open("/docs")
    stops = page.locator(".table[tabindex]")
    expect(stops).to_have_count(0)
    page.set_viewport_size({"width": 200, "height": 800})
    expect(stops).to_have_count(1)
    page.locator("main a").last.focus()
    page.keyboard.press("Tab")
    expect(stops).to_be_focused()
    page.set_viewport_size({"width": WIDE, "height": 800})
    expect(stops).to_have_count(0)


def test_only_a_text_that_can_be_scrolled_is_a_stop_of_the_tab_key(
    site: Site, browse: Callable[..., Visit]
) -> None:
    page = browse(site.url).open(f"/dashboard/evaluations/{site.long}/samples/1")
    texts = page.locator("main pre")
    expect(texts.first).to_be_visible()
    assert page.evaluate(UNLIKE) == []
    assert texts.count() > page.locator("pre[tabindex]").count()


UNLIKE = """[...document.querySelectorAll(".turn pre")].filter(each =>
    (each.scrollHeight > each.clientHeight || each.scrollWidth > each.clientWidth)
    !== each.hasAttribute("tabindex")).map(each => each.textContent.slice(0, 80))"""
"""Texts that can be scrolled and are no stop, or the other way round."""


def test_a_command_is_copied(site: Site, browse: Callable[..., Visit]) -> None:
    window = browse(site.url)
    window.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = window.open("/dashboard/environments/ada/word")
    block = page.get_by_label("The same in a terminal")
    block.get_by_role("button", name="Copy").click()
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "prime env info ada/word"


@pytest.mark.parametrize("javascript", [True, False])
def test_evaluations_are_ticked_compared_and_read_beside_each_other(
    site: Site, browse: Callable[..., Visit], javascript: bool
) -> None:
    window = browse(site.url, javascript=javascript, width=NARROW)
    page = window.open("/dashboard/environments/ada/word/evaluations")
    for model in ("small-1b", "large-70b"):
        page.get_by_label(f"Compare {model} 0.2.0 by ada").check()
    page.get_by_role("button", name="Compare two to four").click()
    expect(page.get_by_role("heading", name="Compare evaluations")).to_be_visible()
    expect(page.get_by_text("examples have a different mean reward")).to_be_visible()
    page.get_by_role("rowheader").first.get_by_role("link").click()
    expect(page.get_by_role("link", name="By itself")).to_have_count(2)
    page.get_by_role("link", name="Compare evaluations").click()
    page.get_by_role("link", name="word by large-70b").first.click()
    page.get_by_role("link", name="Compare with others").click()
    page.get_by_label("Compare with small-1b 0.2.0 by ada").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("against word by large-70b")).to_be_visible()


@pytest.mark.parametrize("javascript", [True, False])
def test_links_lead_from_the_list_to_a_file_and_an_evaluation(
    site: Site, browse: Callable[..., Visit], javascript: bool
) -> None:
    page = browse(site.url, javascript=javascript, width=NARROW).open("/")
    page.get_by_role("searchbox").fill("word")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name="ada/word").click()
    expect(page.get_by_role("heading", name="ada/word")).to_be_visible()
    environment = page.url
    page.get_by_role("link", name="the rules").click()
    expect(page.get_by_text("Six tries.")).to_be_visible()
    page.goto(environment)
    page.get_by_role("link", name="Evaluations").click()
    page.locator(".board").get_by_role("link", name="large-70b").click()
    expect(page.get_by_role("heading", name="word by large-70b")).to_be_visible()
    page.get_by_role("link", name="errored").click()
    page.get_by_role("link", name="Word number 4").click()
    expect(page.locator("#open")).to_contain_text("Request timed out")
    page.get_by_role("link", name="rollout 1: error").first.click()
    expect(page.get_by_role("heading", name="Example 4, rollout 1")).to_be_visible()
    expect(page.get_by_text("Request timed out").first).to_be_visible()


@pytest.mark.parametrize("javascript", [True, False])
def test_three_clicks_lead_to_why_the_best_model_failed_its_worst_example(
    site: Site, browse: Callable[..., Visit], javascript: bool
) -> None:
    window = browse(site.url, javascript=javascript)
    page = window.open("/dashboard/environments/ada/word/evaluations")
    page.locator(".board .model a").first.click()
    page.get_by_role("link", name="lowest reward").click()
    page.locator(".examples a.clip").first.click()
    expect(page.locator("tr:has(+ #open)")).to_contain_text("Word number 4")
    sides = page.locator("#open .sides > section")
    expect(sides).to_have_count(2)
    expect(sides.first.locator(".turn").last).to_contain_text("slate")
    expect(sides.last).to_contain_text("Request timed out")


def test_three_clicks_tell_whether_one_model_is_better_which_version_and_who_sees_it(
    site: Site, browse: Callable[..., Visit]
) -> None:
    page = browse(site.url).open("/")
    page.get_by_role("link", name="ada/word").click()
    expect(page.locator(".about")).to_contain_text("Visible toeverybody")
    page.get_by_role("link", name="Evaluations").click()
    expect(page.locator(".board")).to_contain_text("not decisive")
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("link", name="0.1.0", exact=True).click()
    expect(page.locator(".switch")).to_contain_text("prime env install ada/word@0.1.0")
    window = browse(site.url)
    sign_in(window, site.keys["ada"], ACCOUNT)
    page = window.open("/dashboard/environments/ada/hidden")
    expect(page.locator(".about")).to_contain_text("Visible toada")


def test_a_long_rollout_is_read_to_its_last_turn_and_its_texts_and_tokens_whole(
    site: Site, browse: Callable[..., Visit]
) -> None:
    rollout = f"/dashboard/evaluations/{site.long}/samples/1"
    page = browse(site.url, width=NARROW, scheme="dark").open(rollout)
    turns = page.get_by_role("navigation", name="Turns", exact=True)
    expect(page.get_by_text("turn 0", exact=True)).to_be_visible()
    turns.get_by_role("link", name="Last").click()
    expect(page.get_by_text("turn 117", exact=True)).to_be_visible()
    turns.get_by_role("link", name="Earlier turns").click()
    expect(page.get_by_text("turn 0", exact=True)).to_be_visible()
    page.get_by_role("link", name="Show all 40,000 characters").click()
    assert page.inner_text("body").count("word") == 8000
    page.go_back()
    page.get_by_text("Probabilities of 2,000 sampled tokens").click()
    page.get_by_role("link", name="Show all 2,000 tokens").click()
    expect(page.get_by_text("Tokens 1 to 1,500 of 2,000")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Tokens 1501 to 2,000 of 2,000")).to_be_visible()
    page.get_by_role("link", name="Example 0, rollout 0").click()
    page.wait_for_url(f"**{rollout}")


def test_details_and_versions_say_what_is_locked_checked_signed_and_changed(
    site: Site, browse: Callable[..., Visit]
) -> None:
    page = browse(site.url, width=NARROW).open("/dashboard/environments/ada/word")
    page.get_by_role("link", name="Details").click()
    page.get_by_text("All packages").click()
    expect(page.get_by_role("cell", name="verifiers")).to_be_visible()
    expect(page.get_by_role("row", name="leaks warn 3 of 10")).to_be_visible()
    expect(page.get_by_text("by an SSH key")).to_be_visible()
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Scores are not comparable: reward code changed")).to_be_visible()
    expect(page.get_by_role("row", name="word.right changed")).to_be_visible()


def test_nobody_sees_what_is_private(site: Site, browse: Callable[..., Visit]) -> None:
    window = browse(site.url)
    window.expected.add(404)
    for path in (
        "/dashboard/environments/ada/hidden",
        f"/dashboard/evaluations/{site.secret}",
        "/dashboard/environments/ada/hidden/@0.1.0/files/hidden.py",
    ):
        page = window.open(path)
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    window.picture("not-found")
    page = window.open("/?search=hidden")
    assert "ada/hidden" not in page.content()


def test_samples_of_an_evaluation_that_goes_on_arrive_by_themselves(
    site: Site, browse: Callable[..., Visit]
) -> None:
    with site.client("ada") as ada:
        going_on = made(ada, name="going on", is_public=True)
        push(ada, going_on, samples(2)[:4])
        page = browse(site.url).open(f"/dashboard/evaluations/{going_on}")
        cells = page.locator(".dots a")
        expect(cells).to_have_count(4)
        page.evaluate("window.stayed = true")
        push(ada, going_on, samples(2)[4:])
        expect(cells).to_have_count(10)
        finalize(ada, going_on)
        expect(page.get_by_text("completed", exact=True)).to_be_visible()
        assert page.evaluate("window.stayed")
