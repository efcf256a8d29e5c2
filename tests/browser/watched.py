"""Pages in Chromium, of which nothing goes wrong unseen: errors of the console and of scripts,
breaches of the security policy, dialogs, and requests that leave the hub."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from tests.helpers.browser import chromium
from tests.helpers.screenshots import SCREENSHOTS

WIDE, NARROW = 1280, 390
_PATIENCE = 60_000
"""Milliseconds; the machine may be busy, and what does not come should fail soon."""
Scheme = Literal["light", "dark"]

_REPORT_BREACHES = """
document.addEventListener("securitypolicyviolation", event =>
  reportBreach(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`))
"""
_SERIOUS = ("serious", "critical")
_WITHOUT_SHADOW = """
[...document.querySelectorAll("main :not(pre)")]
  .filter(each => each.scrollWidth > each.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(each).overflowX)
    && !getComputedStyle(each).backgroundAttachment.includes("local"))
  .map(each => `${each.tagName}.${each.className}`)
"""
"""What can be scrolled sideways, and shows no shadow where there is more; of code one knows."""
_DROP_SHADOWS = 'document.styleSheets[0].insertRule(".table { background: none !important }")'
"""Above a gradient, axe-core judges no contrast."""
_RESTORE_SHADOWS = "document.styleSheets[0].deleteRule(0)"


@contextmanager
def launch() -> Iterator[Browser]:
    """This machine's Chromium; it ends with the block."""
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A browser's window on the site at `url`. `problems` are what went wrong so far.

    Answers with one of the statuses in `expected` are no problem.
    """

    context: BrowserContext
    page: Page
    url: str
    problems: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)

    def open(self, path: str) -> Page:
        """Go to an address of the site, and wait until it is loaded."""
        self.page.goto(self.url + path, wait_until="load")
        return self.page

    def picture(self, name: str) -> Path:
        """Keep a screenshot of the whole page, up to 4000 pixels of its height."""
        width = self.page.viewport_size["width"] if self.page.viewport_size else WIDE
        height = min(int(self.page.evaluate("document.documentElement.scrollHeight")), 4000)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        scheme = self.page.evaluate(
            "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"
        )
        path = SCREENSHOTS / f"{name}-{scheme}-{width}.png"
        clip: Any = {"x": 0, "y": 0, "width": width, "height": max(height, 1)}
        self.page.screenshot(path=path, full_page=True, clip=clip)
        return path

    def faults(self, name: str, axe: str) -> list[str]:
        """Serious violations by axe-core on the page `name`, and what is too wide."""
        script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        over = int(self.page.evaluate(script))
        wide = [f"{over} pixels wider than the window"] if over > 0 else []
        hidden = [f"{each} has no hint at more" for each in self.page.evaluate(_WITHOUT_SHADOW)]
        return [f"{name}: {each}" for each in (*_violations(self.page, axe), *wide, *hidden)]


def visit(
    browser: Browser,
    url: str,
    *,
    scheme: Scheme = "light",
    width: int = WIDE,
    javascript: bool = True,
) -> Visit:
    """A new window with cookies of its own."""
    context = browser.new_context(
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
        java_script_enabled=javascript,
        # Animations would be in the screenshots.
        reduced_motion="reduce",
    )
    context.set_default_timeout(_PATIENCE)
    made = Visit(context, context.new_page(), url)
    _watch(made)
    return made


def _watch(made: Visit) -> None:
    problems, host = made.problems, urlsplit(made.url).netloc

    def logged(message: ConsoleMessage) -> None:
        # The browser says every failed answer there too; `answered` knows which are expected.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            problems.append(f"console: {message.text}")

    def requested(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            problems.append(f"request to another host: {request.url}")

    def answered(response: Response) -> None:
        if response.status >= 400 and response.status not in made.expected:
            problems.append(f"{response.status}: {response.url}")

    def dismiss(dialog: Dialog) -> None:
        problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    made.context.expose_binding(
        "reportBreach", lambda _, breach: problems.append(f"policy: {breach}")
    )
    made.context.add_init_script(_REPORT_BREACHES)
    made.context.on("console", logged)
    made.context.on("request", requested)
    made.context.on("response", answered)
    made.context.on("dialog", dismiss)
    made.context.on("weberror", lambda raised: problems.append(f"script: {raised.error}"))


def _violations(page: Page, axe: str) -> list[str]:
    """What axe-core calls a serious or critical violation, with the elements."""
    page.evaluate(axe)
    page.evaluate(_DROP_SHADOWS)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    page.evaluate(_RESTORE_SHADOWS)
    return list(_describe(found))


def _describe(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    for each in found:
        if each["impact"] in _SERIOUS:
            nodes = "; ".join(
                f"{node['target']} {node['html'][:120]}" for node in each["nodes"][:4]
            )
            yield f"{each['id']} ({each['impact']}): {each['help']}: {nodes}"
