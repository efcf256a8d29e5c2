"""The page in a real browser, from disk: what it shows, and that nothing in it runs or leaves."""

import asyncio
import json
from pathlib import Path

import pytest

from prime_cli.core.formatting import format_number
from prime_cli.core.progress import Silent
from prime_cli.runs.export.exports import Format, export_run
from prime_cli.runs.saved_run import open_run
from tests.helpers.browser import Page, browsing
from tests.runs.export.hostile import MARKUP
from tests.runs.rows import row
from tests.runs.saving import save_run

BAD = MARKUP[0] + '<img src="http://127.0.0.1:1/x" onerror="alert(1)">' + "".join(MARKUP[1:6])
NUMBERS = [0.0, 1.0, 0.5, 0.70634, 0.5625, 0.03125, 0.1235, 5.1e-05, 2.5e-07, 0.0001, 0.0496, -0.5]
NUMBERS += [0.7 + 0.2 + 0.1, 0.99996, 99.99996, 12.00001, 10_000, 12_345.678, -1.5e20, 123_456_789]
"""Halves among them, which JavaScript rounds up and Python to the even digit."""
SEARCHED = "/^\\d+ of \\d+ rollouts/.test(byId('found').textContent)"


async def look(path: Path, profile: Path) -> None:
    async with browsing(profile) as page:
        await page.open(path)
        await page.until(SEARCHED)
        await _nothing_hostile_ran(page)
        await _writes_numbers_as_the_terminal_does(page)
        await _filters(page)
        await _opens_by_keyboard(page)
        assert page.errors == []
        assert page.requests == [path.as_uri()]


async def _nothing_hostile_ran(page: Page) -> None:
    assert await page.run("document.querySelectorAll('img, iframe, link').length") == 0
    assert await page.run("document.querySelectorAll('script:not([type])').length") == 1
    assert await page.run("document.querySelector('#grid').rows.length") == 102


async def _writes_numbers_as_the_terminal_does(page: Page) -> None:
    shown = await page.run(f"{json.dumps(NUMBERS)}.map((each) => number(each))")
    assert shown == [format_number(each) for each in NUMBERS]
    assert await page.run("ends(0.70001, 0.70002)") == ["0.70001", "0.70002"]


async def _filters(page: Page) -> None:
    async def found(field: str, value: str) -> int:
        for name in ("from", "to", "text"):
            await page.run(f"byId('{name}').value = ''")
        await page.run("byId('ending').value = 'any'")
        await page.run(f"byId('{field}').value = {json.dumps(value)}; filter()")
        return int(await page.run("matching.length"))

    assert await found("to", "0.5") == 99
    assert await found("ending", "errored") == 1
    assert await found("ending", "error:APITimeoutError") == 1
    assert await found("text", "NEEDLE 42") == 1
    assert await found("text", '"onerror="ALERT') == 0
    assert await found("text", 'onerror="alert(1)') == 1
    assert await found("text", "infra") == 1


async def _opens_by_keyboard(page: Page) -> None:
    await page.run("document.querySelector('#grid button[tabindex=\"0\"]').focus()")
    for key in ("ArrowDown", "ArrowDown"):
        await page.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    await page.call("Input.dispatchKeyEvent", type="keyDown", **enter)
    await page.until("byId('transcript').children.length > 2")
    assert await page.run("byId('rollout-title').textContent") == "Rollout 2.0"
    texts = await page.run(
        "[...document.querySelectorAll('#transcript pre')].map(e => e.textContent)"
    )
    assert BAD in texts
    await page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    await page.until("byId('rollout-title').textContent === 'Rollout 3.0'")


@pytest.mark.slow
def test_the_page_opens_filters_and_runs_nothing_of_others(tmp_path: Path) -> None:
    rows = [
        row(example, 0, 0.25 if example else 1.0, completion=f"needle {example}.")
        for example in range(99)
    ]
    rows[2] = row(2, 0, 0.25, prompt=BAD, completion=[{"role": BAD, "content": [{"text": BAD}]}])
    folder = save_run(tmp_path, *rows, row(99, 0, 0.5), row(100, 0, None))
    page = tmp_path / "a page.html"
    export_run(open_run(folder.path), Format.HTML, page, Silent())
    asyncio.run(look(page, tmp_path / "profile"))
