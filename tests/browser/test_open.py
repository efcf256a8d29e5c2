"""`prime open` as a process, in Chromium: runs of this machine, also while they go on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from playwright.sync_api import APIResponse, Route, expect
from starlette import routing
from starlette.applications import Starlette

from prime_cli.evals.gate.labels import saved_labels
from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.manifest import FINISHED, RUNNING, load_manifest, save_manifest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.web.application import create_application
from prime_cli.web.library import Library
from tests.browser.site import samples
from tests.browser.test_hostile import NOTHING_RAN, TEXT, sample
from tests.browser.watched import NARROW, WIDE, Scheme, Visit
from tests.helpers.cli import COMMAND
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.scripted_model import ScriptedModel
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run
from tests.web.trainings import VERDICT, save_training

pytestmark = pytest.mark.slow


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAA"
    "AfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def looking(number: int, found: str) -> list[dict[str, Any]]:
    """A call of a tool and its result."""
    call = {"id": f"c{number}", "function": {"name": "look", "arguments": '{"at": "board"}'}}
    tokens = [{"token": "I", "logprob": -0.1}, {"token": " look", "logprob": -2.0}]
    return [
        {
            "role": "assistant",
            "reasoning_content": "What is on the board?",
            "content": "I look",
            "tool_calls": [call],
            "logprobs": {"content": tokens},
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": found},
    ]


EVERYTHING = row(
    0,
    prompt=[
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": PIXEL}},
            ],
        }
    ],
    completion=[
        *looking(1, '{"row": 1, "free": [1, 2]}'),
        *looking(2, '{"row": 2, "free": [2]}'),
        {"role": "assistant", "content": '```json\n{"winner": "x", "moves": 5}\n```'},
    ],
    answer='{"winner": "o", "moves": 5}',
    metrics={"right": 0.0, "short": 0.2},
    info={"level": 3},
)
"""A rollout with every kind of part that a page shows."""


@contextmanager
def prime_open(folder: Path, *argv: str) -> Iterator[str]:
    """The address that `prime open` prints in `folder`; it must end well at Ctrl-C."""
    words = [*COMMAND, "open", *argv, "--no-browser", "-q"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode in (0, 130)


def parted(address: str) -> tuple[str, str]:
    """The origin of an address, and the rest of it."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin, address.removeprefix(origin)


def save(folder: Path, right: int, model: str = "org/model") -> RunFolder:
    """A run of ten rollouts, of which `right` are right."""
    rows = [
        row(
            int(each["example_id"]),
            int(each["rollout"]),
            each["reward"],
            prompt=each["prompt"],
            completion=each["completion"],
            metrics=each["metrics"],
            answer=each["answer"],
        )
        for each in samples(right)
    ]
    plan = PLAN.__class__(
        **{name: getattr(PLAN, name) for name in PLAN.__struct_fields__}
        | {"model": model, "num_examples": 5}
    )
    return save_run(folder, *rows, plan=plan, planned=10)


def addresses(ours: str, theirs: str, rich: str, training: str) -> dict[str, str]:
    """The pages of these runs, by the names of their screenshots; `rich` is of EVERYTHING."""
    run, both = f"/runs/{ours}", f"run={theirs}&run={ours}"
    return {
        "runs": "/runs",
        "runs-found": "/runs?text=small",
        "runs-none": "/runs?text=nothing",
        "run": run,
        "run-filtered": f"{run}?reward=%3E0.5",
        "run-open": f"{run}?open=4.1&sort=spread",
        "rollout": f"{run}/rollouts/0.0",
        "label": f"/runs/{rich}/labels/ada/0.0",
        "labels": f"{run}/labels",
        "rollout-rich": f"/runs/{rich}/rollouts/0.0",
        "rollout-tokens-local": f"/runs/{rich}/rollouts/0.0/tokens?at=/completion/0/logprobs",
        "compare": f"/compare?{both}",
        "compare-none": "/compare",
        "compare-rollouts": f"/compare/2.0?{both}",
        "training": f"/trainings/{training}",
        "not-found": "/runs/nothing",
        "environments-local": "/",
        "environment-local": "/dashboard/environments/starter/alphabet-sort",
    }


NO_PAGES = {
    "/runs/{name}/events",
    "/runs/{name}/download.{form}",
    "/runs/{name}/rollouts/{position}/text",
    "/runs/{name}/labels/{person}",
    "/runs/{name}/labels/{person}/{position}/text",
    "/events",
    "/trainings/{name}/events",
    "/static/{name}",
}


def test_every_local_page_is_looked_at(tmp_path: Path) -> None:
    paths = {urlsplit(each).path for each in addresses("a", "b", "c", "d").values()}
    unseen = {
        route.path
        for route in create_application(Library(tmp_path), Starlette()).routes
        if isinstance(route, routing.Route) and not any(map(route.path_regex.match, paths))
    }
    assert unseen == NO_PAGES


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_runs_a_rollout_and_a_comparison_are_fit_for_everybody(
    browse: Callable[..., Visit], tmp_path: Path, axe: str, scheme: Scheme, width: int
) -> None:
    ours, theirs = save(tmp_path, 7, "large-70b"), save(tmp_path, 3, "small-1b")
    rich = save_run(tmp_path, EVERYTHING, planned=1)
    training, _ = save_training(tmp_path)
    with prime_open(tmp_path) as address:
        origin, path = parted(address)
        window = browse(origin, scheme=scheme, width=width)
        window.open(path)
        wrong = []
        window.expected.add(404)
        ids = (ours.run_id, theirs.run_id, rich.run_id, training.run_id)
        for name, path in addresses(*ids).items():
            window.open(path)
            window.picture(name)
            wrong += window.faults(name, axe)
        assert wrong == []


def test_address_is_good_once(browse: Callable[..., Visit], tmp_path: Path, axe: str) -> None:
    save(tmp_path, 7)
    with prime_open(tmp_path) as address:
        origin, path = parted(address)
        page = browse(origin).open(path)
        expect(page.get_by_role("heading", level=1)).to_have_text("Runs on this machine")
        assert "token" not in page.url
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Runs on this machine")
        stranger = browse(origin)
        stranger.expected |= {401, 403}
        for each in (path, "/runs", "/"):
            assert "org/model" not in stranger.open(each).content()
            expect(stranger.page.locator(".problem")).to_be_visible()
        assert stranger.faults("stranger", axe) == []
        stranger.picture("stranger")


def test_pages_work_without_scripts(browse: Callable[..., Visit], tmp_path: Path) -> None:
    run, other = save(tmp_path, 7), save(tmp_path, 3)
    training, _ = save_training(tmp_path)
    with prime_open(tmp_path, run.run_id) as address:
        origin, path = parted(address)
        window = browse(origin, javascript=False)
        page = window.open(path)
        page.get_by_role("textbox", name="Reward").fill(">0.5")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("table.examples tbody tr")).to_have_count(4)
        page.get_by_role("link", name="flipped").click()
        expect(page.get_by_text("1 rollout found")).to_be_visible()
        page.locator(".examples .clip").first.click()
        expect(page.locator("#open .sides > section")).to_have_count(2)
        page.get_by_role("link", name="all", exact=True).click()
        page.locator(".dots a").first.click()
        expect(page.get_by_text("I try crane.").first).to_be_visible()
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Example 0, rollout 1")
        window.open("/runs")
        for each in (run, other):
            page.get_by_label(f"Compare {each.run_id}").check()
        page.get_by_role("button", name="Compare two to four").click()
        page.get_by_role("row", name="2 ").get_by_role("link").click()
        expect(page.get_by_role("link", name="By itself")).to_have_count(2)
        window.open("/runs")
        page.get_by_role("link", name=training.run_id).click()
        expect(page.get_by_text(VERDICT.sentence)).to_be_visible()
        page.get_by_text("As a table").first.click()
        expect(page.get_by_role("cell", name="held out").first).to_be_visible()


def test_downloads_are_saved(browse: Callable[..., Visit], tmp_path: Path) -> None:
    run = save(tmp_path, 7)
    with prime_open(tmp_path, run.run_id) as address:
        origin, path = parted(address)
        page = browse(origin).open(path)
        for label, form in (
            ("JSON lines", "jsonl"),
            ("CSV", "csv"),
            ("Parquet", "parquet"),
            ("One page", "html"),
        ):
            with page.expect_download() as started:
                if form == "jsonl":
                    page.get_by_text("Download", exact=True).click()
                page.get_by_role("link", name=label).click()
            assert started.value.suggested_filename == f"{run.run_id}.{form}"
            assert started.value.path().stat().st_size > 0


def test_rollouts_are_labelled_with_keys(browse: Callable[..., Visit], tmp_path: Path) -> None:
    run = save(tmp_path, 7)
    with prime_open(tmp_path) as address:
        origin, path = parted(address)
        window = browse(origin)
        window.open(path)
        page = window.open(f"/runs/{run.run_id}/labels?as=ada")
        seen = []
        for key in ("p", "0", "s", "1"):
            seen.append(page.url)
            page.locator("pre").first.focus()
            page.keyboard.press(key)
            page.wait_for_url(lambda url: url != seen[-1])
        expect(page.get_by_text("3 of 9 labelled")).to_be_visible()
        page.keyboard.press("ArrowLeft")
        page.wait_for_url(seen[-1])
        page.keyboard.press("f")
        page.wait_for_url(lambda url: url != seen[-1])
    assert [each.passes for each in saved_labels(run)] == [True, False, False]


def test_arrow_keys_lead_from_rollout_to_rollout(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    run = save(tmp_path, 7)
    with prime_open(tmp_path, run.run_id) as address:
        origin, path = parted(address)
        window = browse(origin)
        window.open(path)
        page = window.open(f"/runs/{run.run_id}/rollouts/0.0")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/rollouts/0.1")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**/rollouts/0.0")
        page.keyboard.press("/")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("searchbox")).to_be_focused()
        assert page.url.endswith("/rollouts/0.0")


def test_rollouts_of_strangers_do_nothing(browse: Callable[..., Visit], tmp_path: Path) -> None:
    rows = []
    for number in range(3):
        each = sample(number)
        keys = ("prompt", "completion", "metrics", "answer", "info", "task", "stop_condition")
        rows.append(row(number, 0, each["reward"], **{key: each[key] for key in keys}))
    run = save_run(tmp_path, *rows, planned=3)
    with prime_open(tmp_path, run.run_id) as address:
        origin, path = parted(address)
        window = browse(origin)
        window.open(path)
        at = f"/runs/{run.run_id}"
        for seen in (at, "/runs", *(f"{at}/rollouts/{number}.0" for number in range(3))):
            page = window.open(seen)
            assert page.evaluate(NOTHING_RAN), seen
        assert TEXT[:20] in page.inner_text("main")
        window.picture("hostile-rollout")


def test_rollouts_of_a_run_that_goes_on_arrive_by_themselves(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    small_interpreter(tmp_path, ECHO)
    plan = json.dumps({"num_examples": 6, "rollouts_per_example": 1, "concurrency": 1})
    with ScriptedModel(latency=0.7) as model, prime_open(tmp_path) as address:
        words = [sys.executable, "-m", "tests.helpers.live_run", str(tmp_path), model.url, plan]
        root = Path(__file__).parents[2]
        with subprocess.Popen(words, cwd=root, env=os.environ) as run:
            origin, path = parted(address)
            window = browse(origin)
            page = window.open(path)
            link = page.locator("main td a").first
            for _ in range(100):
                if link.count():
                    break
                page.wait_for_timeout(200)
                page.reload()
            link.click()
            page.evaluate("window.stayed = true")
            page.get_by_text("As a table").click(timeout=10_000)
            assert page.locator("table.examples tbody tr").count() < 6
            expect(page.locator("table.examples tbody tr")).to_have_count(6)
            assert page.evaluate("window.stayed")
            expect(page.get_by_text("6 values of")).to_be_visible()
            expect(page.locator("figure details")).to_have_attribute("open", "")
            expect(page.locator("figure summary")).to_be_focused()
            assert run.wait(60) == 0
        window.picture("run-live")


def test_how_many_rollouts_match_grows_with_them(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING, planned=9)
    with (
        writing(folder),
        Journal(folder.journal, Scrubber({})) as journal,
        prime_open(tmp_path, folder.run_id) as address,
    ):
        origin, path = parted(address)
        window = browse(origin)
        window.open(path)
        page = window.open(f"/runs/{folder.run_id}?reward=%3E0.5")
        expect(page.get_by_text("1 rollout found.")).to_be_visible()
        page.get_by_text("Parameters and manifest").click()
        for count in (2, 3):
            journal.append(row(count))
            expect(page.get_by_text(f"{count} rollouts found.")).to_be_visible()
            expect(page.locator("table.examples tbody tr")).to_have_count(count)
            expect(page.get_by_text(f"{count} of 9, {count} examples")).to_be_visible()
        expect(page.locator("details", has_text="Parameters")).to_have_attribute("open", "")


def test_an_answer_that_is_late_replaces_no_newer_one(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING, planned=9)
    held: list[tuple[Route, APIResponse]] = []

    def hold_first(route: Route) -> None:
        if held or route.request.resource_type != "fetch":
            route.continue_()
        else:
            held.append((route, route.fetch()))

    with (
        writing(folder),
        Journal(folder.journal, Scrubber({})) as journal,
        prime_open(tmp_path, folder.run_id) as address,
    ):
        origin, path = parted(address)
        window = browse(origin)
        window.page.route(f"**/runs/{folder.run_id}", hold_first)
        page = window.open(path)
        journal.append(row(1))
        page.wait_for_timeout(2_500)
        journal.append(row(2))
        page.wait_for_timeout(2_500)
        ((route, late),) = held
        route.fulfill(response=late)
        page.wait_for_timeout(1_500)
        expect(page.locator("table.examples tbody tr")).to_have_count(3)


def test_the_list_shows_by_itself_that_a_run_began_and_ended(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    first = save_run(tmp_path, row(0))
    with prime_open(tmp_path) as address:
        origin, path = parted(address)
        page = browse(origin).open(path)
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(1)
        page.evaluate("window.stayed = true")
        search = page.get_by_role("searchbox", name="Search", exact=True)
        search.fill("typed")
        box = page.get_by_label(f"Compare {first.run_id}")
        box.check()
        second = save_run(tmp_path, row(0), status=RUNNING)
        with writing(second):
            expect(rows).to_have_count(2)
            expect(page.get_by_text("running")).to_be_visible()
            expect(box).to_be_checked()
            expect(box).to_be_focused()
            manifest = load_manifest(second.manifest)
            ended = msgspec.structs.replace(manifest, status=FINISHED)
            save_manifest(second.manifest, ended, Scrubber({}))
        expect(page.get_by_text("running")).to_have_count(0)
        expect(search).to_have_value("typed")
        assert page.evaluate("window.stayed")


def test_a_page_that_is_not_seen_holds_no_connection(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    show = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    save_run(tmp_path, row(0))
    with prime_open(tmp_path) as address:
        origin, path = parted(address)
        page = browse(origin).open(path)
        with page.expect_event("requestfailed", lambda request: "/events" in request.url):
            page.evaluate(show, True)
        save_run(tmp_path, row(0))
        page.wait_for_timeout(4_000)
        expect(page.locator("tbody tr")).to_have_count(1)
        page.evaluate(show, False)
        expect(page.locator("tbody tr")).to_have_count(2)


def test_a_page_whose_events_were_refused_asks_for_them_again(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING, planned=2)
    refused = iter([True])

    def refuse_once(route: Route) -> None:
        if next(refused, False):
            route.fulfill(status=429)
        else:
            route.continue_()

    with (
        writing(folder),
        Journal(folder.journal, Scrubber({})) as journal,
        prime_open(tmp_path, folder.run_id) as address,
    ):
        origin, path = parted(address)
        window = browse(origin)
        window.expected.add(429)
        window.page.route("**/events?*", refuse_once)
        window.page.clock.install()
        page = window.open(path)
        page.wait_for_timeout(500)
        journal.append(row(1))
        with page.expect_response("**/events?*"):
            page.clock.fast_forward(31_000)
        page.wait_for_timeout(1_000)
        page.clock.fast_forward(1_000)
        expect(page.locator("table.examples tbody tr")).to_have_count(2)
