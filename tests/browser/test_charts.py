"""The values of a chart are told at the pointer and by the keyboard."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_open import parted, prime_open
from tests.browser.watched import Visit
from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.web.trainings import save_training

pytestmark = pytest.mark.slow


def test_values_are_told_at_the_pointer_and_by_the_arrow_keys(
    browse: Callable[..., Visit], tmp_path: Path
) -> None:
    saved, _ = save_training(tmp_path)
    with prime_open(tmp_path, saved.run_id) as address:
        origin, path = parted(address)
        window = browse(origin)
        page = window.open(path)
        chart = page.locator("figure.chart").first
        told, drawing = chart.locator("figcaption span"), chart.locator("svg").first
        before = "in training ends at 0.5, held out ends at 0.5"
        expect(told).to_have_text(before)
        drawing.focus()
        page.keyboard.press("ArrowRight")
        expect(told).to_have_text("Step 0: in training 0, held out 0.5 (0.157 to 0.843)")
        page.keyboard.press("ArrowRight")
        expect(told).to_have_text("Step 1: in training 0.25")
        page.keyboard.press("End")
        expect(told).to_have_text("Step 2: in training 0.5")
        window.picture("training-read-out")
        drawing.blur()
        expect(told).to_have_text(before)
        box = drawing.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(told).to_have_text("Step 1: in training 0.25")
        page.mouse.move(0, 0)
        expect(told).to_have_text(before)


def test_the_bars_of_a_histogram_are_told(browse: Callable[..., Visit], tmp_path: Path) -> None:
    run = save_run(tmp_path, *(row(number, reward=number % 2) for number in range(8)))
    with prime_open(tmp_path, run.run_id) as address:
        origin, path = parted(address)
        window = browse(origin)
        page = window.open(path)
        chart = page.locator("figure.chart").first
        chart.locator("svg").first.focus()
        page.keyboard.press("End")
        expect(chart.locator("figcaption span")).to_have_text("0.95 to 1: 4")
