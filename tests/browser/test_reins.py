"""Running evaluations that are steered from their page of `prime open`, by HTTP and in Chromium."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx
import pytest
from playwright.sync_api import expect

from prime_cli.evals.control.client import RunControl
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.saved_run import open_run
from tests.browser.test_open import parted, prime_open
from tests.browser.watched import NARROW, WIDE, Scheme, Visit
from tests.evals.control.conftest import reins
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow


@contextmanager
def running(folder: Path) -> Iterator[tuple[RunControl, Path, subprocess.Popen[bytes]]]:
    """A run of 99 rollouts, one at a time, that has begun: its control, folder and process."""
    small_interpreter(folder, ECHO)
    plan = {"env_args": {"size": 99}, "num_examples": 99, "concurrency": 1}
    plan |= {"rollouts_per_example": 1}
    with ScriptedModel(latency=0.7) as model:
        words = [sys.executable, "-m", "tests.helpers.live_run"]
        words += [str(folder), model.url, json.dumps(plan)]
        root = Path(__file__).parents[2]
        with subprocess.Popen(words, cwd=root, env=os.environ) as process:
            try:
                yield reins(folder), Path(list_runs(folder)[0].path), process
            finally:
                process.terminate()


class Reader:
    """A browser without scripts, which sends forms as it finds them."""

    def __init__(self, address: str) -> None:
        self.origin, path = parted(address)
        self.client = httpx.Client(base_url=self.origin, follow_redirects=True)
        self.client.get(path)
        self.token = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def send(self, page: str, origin: str | None = None, **form: str) -> httpx.Response:
        found = re.search(r'name="form_token" value="([^"]+)"', self.client.get(page).text)
        self.token = found[1] if found else self.token
        form = {"form_token": self.token, **form}
        headers = {"origin": origin or self.origin}
        return self.client.post(page, data=form, headers=headers, timeout=30)


def test_a_run_is_paused_limited_cancelled_and_drained_by_forms(tmp_path: Path) -> None:
    with (
        running(tmp_path) as (control, folder, process),
        prime_open(tmp_path) as address,
        Reader(address) as reader,
    ):
        page = f"/runs/{folder.name}"
        paused = reader.send(page, action="pause")
        assert (paused.status_code, control.status().state) == (200, "paused")
        assert '<span class="badge live">paused</span>' in paused.text
        assert ">Resume</button>" in paused.text
        limited = reader.send(page, action="set", concurrency="3", max_cost="")
        assert "of at most 3" in limited.text
        assert control.status().concurrency == 3
        assert "Cancelled</dt><dd>1" in reader.send(page, action="cancel", rollout="90").text
        refused = reader.send(page, action="cancel", rollout="99")
        assert refused.status_code == 404
        assert "This run has no example 99" in refused.text
        assert "is not a number" in reader.send(page, action="set", concurrency="x").text
        assert "is not EXAMPLE" in reader.send(page, action="cancel", rollout="x").text
        assert ">Pause</button>" in reader.send(page, action="resume").text
        assert "draining" in reader.send(page, action="drain").text
        assert process.wait(60) == 0
        after = reader.send(page, action="pause")
        assert after.status_code == 409
        assert "does not run: it is interrupted" in after.text
        assert 'name="action"' not in after.text
    changes = load_manifest(folder / "run.json").changes
    assert [each.action for each in changes] == ["pause", "set", "cancel", "resume", "drain"]


def test_forms_of_other_sites_steer_nothing(tmp_path: Path) -> None:
    with (
        running(tmp_path) as (control, folder, _),
        prime_open(tmp_path) as address,
        Reader(address) as reader,
    ):
        page = f"/runs/{folder.name}"
        port = int(reader.origin.rpartition(":")[2])
        for origin in ("http://evil.example", f"http://127.0.0.1:{port + 1}", "null", "https://x"):
            assert reader.send(page, origin, action="pause").status_code == 403
        assert reader.send(page, form_token="x", action="pause").status_code == 403
        assert reader.client.post(page, data={"action": "pause"}).status_code == 403
        stranger = httpx.post(
            f"{reader.origin}{page}", data={"action": "pause"}, headers={"origin": reader.origin}
        )
        assert stranger.status_code == 403
        hub = "/dashboard/environments/starter/alphabet-sort"
        assert reader.send(hub, action="pause").status_code == 403
        assert control.status().state == "running"
        assert load_manifest(folder / "run.json").changes == ()


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_a_page_shows_what_others_do_and_keeps_what_is_typed(
    browse: Callable[..., Visit], tmp_path: Path, axe: str, scheme: Scheme, width: int
) -> None:
    with running(tmp_path) as (control, folder, process), prime_open(tmp_path) as address:
        origin, path = parted(address)
        window = browse(origin, scheme=scheme, width=width)
        window.open(path)
        page = window.open(f"/runs/{folder.name}")
        page.evaluate("window.stayed = true")
        page.get_by_label("Rollout", exact=True).fill("90:0")
        badge = page.locator(".badge.live")
        control.pause()
        expect(badge).to_have_text("paused")
        assert page.evaluate("window.stayed")
        window.picture("run-paused")
        assert window.faults("run-paused", axe) == []
        page.get_by_role("button", name="Resume").click()
        expect(badge).to_have_text("running")
        at_a_time = page.get_by_label("At a time")
        at_a_time.fill("2")
        done = control.status().done
        while control.status().done == done:
            time.sleep(0.1)
        page.wait_for_timeout(1_500)
        expect(at_a_time).to_have_value("2")
        at_a_time.press("Enter")
        expect(page.get_by_text("of at most 2")).to_be_visible()
        page.get_by_role("button", name="Drain").click()
        expect(page.get_by_text("This run is interrupted")).to_be_visible(timeout=20_000)
        expect(page.get_by_role("button", name="Set", exact=True)).to_have_count(0)
        assert process.wait(60) == 0
    assert open_run(folder).status == "interrupted"
