"""Take README's pictures anew, of a run with a scripted model: `nox -s screenshots`."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402
from playwright.sync_api import Page  # noqa: E402

from prime_cli.evals.viewer.catalogue import Catalogue  # noqa: E402
from prime_cli.terminal.viewer.app import Viewer  # noqa: E402
from tests.browser.watched import launch  # noqa: E402
from tests.helpers.scripted_model import Received, ScriptedModel  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, HIGHEST = 1280, 1400
PRIME = [sys.executable, "-m", "prime_cli"]


def sort_almost(request: Received) -> str:
    """The names of all turns, sorted as asked but for a slip here and there."""
    texts = [str(each["content"]) for each in request.messages if each["role"] == "user"]
    luck = random.Random(f"{texts[-1]}{request.at}")
    by_last = "by last name" in texts[0]
    lists = [[line for line in text.splitlines()[1:] if line] for text in texts]
    names = sorted(
        (name for each in lists for name in each),
        key=lambda name: name.split()[::-1] if by_last else name.split(),
    )
    if luck.random() < 0.4:
        at = luck.randrange(len(names) - 1)
        names[at], names[at + 1] = names[at + 1], names[at]
    new = set(lists[-1]) if len(lists) > 1 and luck.random() < 0.85 else set()
    lines = [f"{name} // new" if name in new else name for name in names]
    return "<sorted>\n" + "\n".join(lines) + "\n</sorted>"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "PRIME_HOME": f"{folder}/.prime", "PRIME_UPSTREAM": "none"}
        work = Path(folder) / "work"
        work.mkdir()
        with ScriptedModel(sort_almost, models=("large-model",)) as model:
            run = "eval run starter/alphabet-sort -m large-model -n 20 -r 4 -b".split()
            subprocess.run([*PRIME, *run, model.url], cwd=work, check=True)
        terminal = asyncio.run(look(work))
        with subprocess.Popen(
            [*PRIME, "open", "--no-browser", "-q"],
            cwd=work,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ) as served:
            try:
                assert served.stdout is not None
                take(served.stdout.readline().strip(), terminal)
            finally:
                served.send_signal(signal.SIGINT)


async def look(work: Path) -> str:
    """The only run in the viewer, as SVG."""
    viewer = Viewer(runs=Catalogue(work))
    async with viewer.run_test(size=(112, 32)) as pilot:
        await pilot.pause(2)
        await pilot.press("enter")
        await pilot.pause(2)
        return viewer.export_screenshot()


def take(address: str, terminal: str) -> None:
    """Picture the pages of `prime open` at its one-time address, and the viewer."""
    with launch() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": 640})
        page.goto(address)
        page.locator("main tbody a").first.click()
        picture(page, "run")
        page.get_by_role("link", name="Environments").click()
        picture(page, "catalogue")
        page.get_by_role("link", name="starter/alphabet-sort").click()
        picture(page, "environment")
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})  # without the policy
        page.set_content(re.sub(r"@font-face \{.*?\}", "", terminal, flags=re.DOTALL))
        page.locator("svg").first.screenshot(path=IMAGES / "view.png")
        shrink(IMAGES / "view.png")


def shrink(path: Path) -> None:
    """Write the picture with 256 colours, which is a third of its bytes."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


def picture(page: Page, name: str) -> None:
    """Save the page as it is now, without what is far below."""
    page.wait_for_load_state("load")
    height = min(int(page.evaluate("document.documentElement.scrollHeight")), HIGHEST)
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
    page.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=clip)
    shrink(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
