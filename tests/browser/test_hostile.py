"""What strangers wrote, in every field that they can set, opened in Chromium: it shows and does
nothing. Dialogs, requests elsewhere and breaches of the policy fail a test by themselves."""

import shlex
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from prime_cli.pages.markdown import render_markdown
from tests.browser.site import Site, publish
from tests.browser.watched import NARROW, WIDE, Visit, visit
from tests.helpers.markup import allowed_element, markups
from tests.hub.evaluating import finished

pytestmark = pytest.mark.slow

ELSEWHERE = "http://127.0.0.1:1/x"
BAD = (
    '"><img src=x onerror="window.ran=1;alert(1)" class=bad><script class=bad>window.ran=1</script>'
    f"<iframe class=bad src={ELSEWHERE}></iframe>'\"--></title></style></textarea></script>"
    "<svg class=bad onload=alert(1)>{{ 7*7 }}</svg>\u202e\u0000"
)
TEXT = BAD.replace("\u0000", "")
README = f"""# {TEXT}

{TEXT}

[a](javascript:alert(1)) ![b]({ELSEWHERE}) <{ELSEWHERE}>
[c](data:text/html,<script>alert(1)</script>)
[d](//127.0.0.1:1/x) [e](docs/../../../../secret) [f](<a" onmouseover="alert(1)>)

| a{TEXT} | b |
|:-:|--:|
| {TEXT} | `{TEXT}` |

```x" onclick="alert(1)
{TEXT}
```
"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script>'
    f'<image href="{ELSEWHERE}"/></svg>'
)
FILES = {
    "picture.svg": SVG,
    "page.html": f"<!doctype html><script>alert(1)</script>{TEXT}",
    "a'; touch ran; '\"<img src=x onerror=alert(1)>.py": TEXT,
    "$(touch ran)`touch ran`.txt": TEXT,
}
NOTHING_RAN = """
window.ran === undefined && document.querySelectorAll(
  ".bad:not(.verdict), iframe, object, embed, base, meta[http-equiv], script:not([src]), " +
  "[onerror], [onload]"
).length === 0
"""


@pytest.fixture(scope="module")
def hostile(site: Site) -> list[str]:
    """The addresses of pages with hostile content."""
    with site.client("ada") as ada:
        publish(
            ada, "evil", "6.6.6", readme=README, description=TEXT[:400], tags=["ok"], files=FILES
        )
        publish(ada, "evil", "6.6.7", code=f"# {TEXT}\nx = {TEXT!r}\n", readme=README)
        evaluation = finished(
            ada,
            [sample(n) for n in range(3)],
            name=f"evil {TEXT}"[:200],
            environments=[{"id": "ada/evil"}],
            model_name=TEXT[:100],
            is_public=True,
            description=TEXT,
            tags=[TEXT[:60]],
            metadata={"prime": {"asked_again": {"rollouts": 1, TEXT: 1}}, TEXT: TEXT},
            inference_url=ELSEWHERE,
        )
    at = "/dashboard/environments/ada/evil"
    return [
        "/",
        "/?search=" + "%22%3E%3Cimg src=x onerror=alert(1) class=bad%3E",
        at,
        *(f"{at}/{tab}" for tab in ("@6.6.6/files", "versions", "evaluations", "details")),
        f"{at}/versions?from=6.6.6&to=6.6.7",
        f"/dashboard/compare/0.0?evaluation={evaluation}&evaluation={site.evaluations['small-1b']}",
        *(f"/dashboard/evaluations/{evaluation}/samples/{number}" for number in (1, 2, 3)),
        f"/dashboard/evaluations/{evaluation}",
        f"/dashboard/compare?evaluation={evaluation}&evaluation={site.evaluations['small-1b']}",
    ]


def sample(number: int) -> dict[str, Any]:
    """A rollout with markup in every text."""
    image = {"type": "image_url", "image_url": {"url": ELSEWHERE}}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{TEXT}"}}
    logprobs = {"content": [{"token": TEXT, "logprob": -0.5}]}
    said: list[dict[str, Any]] = [
        {"role": TEXT, "content": TEXT},
        {"role": "assistant", "content": [{"type": "text", "text": TEXT}]},
        *called("1", {TEXT: TEXT, "same": TEXT}),
        *called("2", {f"new {TEXT}": TEXT, "same": f"now {TEXT}"}),
        *called("3", [{"type": "text", "text": TEXT}, image, picture]),
        {"role": "user", "content": [image, picture], "reasoning_content": TEXT},
        {"role": "assistant", "content": TEXT, "logprobs": logprobs},
    ]
    return {
        "example_id": number,
        "prompt": said,
        "completion": said,
        "answer": TEXT,
        "reward": [0.0, 1.0, None][number],
        "metrics": {TEXT: 1.0},
        "error": {"class": TEXT, "type": TEXT, "message": TEXT} if number == 2 else None,
        "info": {TEXT: TEXT},
        "task": TEXT,
        "stop_condition": TEXT,
    }


def called(identity: str, result: Any) -> list[dict[str, Any]]:
    """A call of one tool, and its result."""
    function = {"name": TEXT, "arguments": TEXT}
    call = {"id": identity, "type": "function", "function": function}
    return [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identity, "content": result},
    ]


def links(page: Page) -> list[str]:
    """Where the page's links lead."""
    return list(page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)"))


def test_nothing_that_strangers_wrote_runs(
    site: Site, browse: Callable[..., Visit], hostile: list[str]
) -> None:
    window = browse(site.url)
    # Its README names files that are not there.
    window.expected.add(404)
    seen, todo = set(), list(hostile)
    while todo:
        path = todo.pop()
        seen.add(path)
        page = window.open(path)
        assert page.evaluate(NOTHING_RAN), path
        for link in links(page):
            assert link.startswith((f"{site.url}/", f"{site.url}#", "http", "mailto:")), link
            within = link.removeprefix(site.url).partition("#")[0]
            if (
                link.startswith(f"{site.url}/dashboard/environments/ada/evil/")
                and within not in seen
                # Plain text in a sandbox, where the driver's own scripts may not run either.
                and "/raw/" not in within
            ):
                todo.append(within)
                seen.add(within)
        # What a click or a hover would set off.
        page.mouse.move(300, 300)
    assert len(seen) > len(hostile) + len(FILES)
    window.open(hostile[2])
    window.picture("hostile-environment")
    window.open(hostile[-1])
    window.picture("hostile-evaluation")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_word_of_a_stranger_makes_a_rollout_wider_than_its_page(
    site: Site, browse: Callable[..., Visit], hostile: list[str], width: int
) -> None:
    word = "w" * 300
    function = {"name": word, "arguments": {word: word}}
    picture = {"type": "image_url", "image_url": {"url": f"{ELSEWHERE}/{word}"}}
    said = {"role": word, "content": [word, picture], "tool_calls": [{"function": function}]}
    with site.client("ada") as ada:
        long = {"example_id": 0, "completion": [said], "metrics": {word: 1.0}, "info": {word: word}}
        about: dict[str, Any] = {"environments": [{"id": "ada/evil"}], "is_public": True}
        evaluation = finished(ada, [long], name="long words", model_name=word[:100], **about)

    page = browse(site.url, width=width).open(f"/dashboard/evaluations/{evaluation}/samples/1")

    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_file_of_a_stranger_is_text_whatever_its_name(
    site: Site, browse: Callable[..., Visit], hostile: list[str]
) -> None:
    page = browse(site.url).open(f"{hostile[2]}/@6.6.6/files")
    found = [link for link in links(page) if "/files/" in link]
    for name in FILES:
        (link,) = [each for each in found if unquote(each).endswith(f"/files/{name}")]
        page.goto(link)
        expect(page.locator("main")).to_contain_text(FILES[name][:30])
        # It is there to be pasted into a shell.
        shown = page.get_by_label("The same in a terminal").locator("code").inner_text()
        assert shlex.split(shown) == ["prime", "env", "inspect", "ada/evil@6.6.6", name]


@pytest.fixture(scope="module")
def parser(browser: Browser, site: Site) -> Iterator[Page]:
    """A page whose browser parses HTML."""
    window = visit(browser, site.url)
    yield window.open("/")
    window.context.close()
    assert window.problems == []


_PARSE = """texts => texts.map(text => Array.from(
  new DOMParser().parseFromString(text, "text/html").body.querySelectorAll("*"),
  each => [each.localName, Object.fromEntries(Array.from(each.attributes, a => [a.name, a.value]))]
))"""


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.lists(markups, min_size=30, max_size=30))
def test_browsers_see_only_allowed_elements_in_any_readme(parser: Page, texts: list[str]) -> None:
    """A browser's parser, which mends what is broken in its own way."""
    rendered = [render_markdown(text, "/files/") for text in texts]
    for text, elements in zip(texts, parser.evaluate(_PARSE, rendered), strict=True):
        for name, attributes in elements:
            assert allowed_element(name, attributes, "/files/"), (text, name, attributes)
