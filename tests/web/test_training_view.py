from pathlib import Path

import msgspec
from starlette.testclient import TestClient

from prime_cli.runs.manifest import RUNNING, load_manifest, save_manifest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.training.trainer_events import METRICS
from tests.web.trainings import save_training


def test_a_training_shows_its_curves_evaluations_rollouts_and_verdict(
    pages: TestClient, tmp_path: Path
) -> None:
    saved, tested = save_training(tmp_path)

    page = pages.get(f"/trainings/{saved.run_id}").text

    assert "The trained model scores higher than the untrained.</p>" in page
    assert "Mean reward: in training ends at 0.5, held out ends at 0.5" in page
    assert "KL divergence: ends at 0.02" in page
    assert "Loss: ends at 0.333" in page
    assert "Tokens of an answer: ends at 42" in page
    assert "Clip fraction: ends at 0.2" in page
    assert "Tokens sampled a second: ends at 12.5" in page
    assert f'href="/runs/{tested.run_id}"' in page
    assert "none" in page
    assert f"/runs/{saved.run_id}/rollouts/3.0" in page
    assert "answer 3" in page
    assert f'href="/runs/{saved.run_id}?step=1#rollouts">1</a>' in page
    assert f"prime train show {saved.run_id}" in page


def test_curves_end_with_the_step_that_a_training_says_it_is_at(
    pages: TestClient, tmp_path: Path
) -> None:
    saved, _ = save_training(tmp_path)
    with (saved.path / METRICS).open("a", encoding="utf-8") as file:
        file.write('{"step": 3, "reward": 0.9, "loss": 0.1}\n')

    page = pages.get(f"/trainings/{saved.run_id}").text

    assert "<dt>Steps</dt><dd>2 of " in page
    assert "Mean reward: in training ends at 0.5," in page
    assert "Loss: ends at 0.333" in page


def test_a_training_that_was_killed_says_how_to_go_on(pages: TestClient, tmp_path: Path) -> None:
    saved, _ = save_training(tmp_path)
    manifest = msgspec.structs.replace(load_manifest(saved.manifest), status=RUNNING)
    save_manifest(saved.manifest, manifest, Scrubber({}))
    hint = f"This run is stopped; continue with `prime train --resume {saved.run_id}`."

    for path in ("trainings", "runs"):
        assert hint in pages.get(f"/{path}/{saved.run_id}").text


def test_trainings_are_listed_and_searched_with_their_command(
    pages: TestClient, tmp_path: Path
) -> None:
    assert "prime train list" not in pages.get("/runs").text
    saved, _ = save_training(tmp_path)
    for found in ("/runs", "/runs?text=wordle+higher"):
        page = pages.get(found).text
        assert f"/trainings/{saved.run_id}" in page
        assert "prime eval list\nprime train list" in page
    assert saved.run_id not in pages.get("/runs?text=chess").text


def test_rollouts_are_found_by_the_step_of_their_training(
    pages: TestClient, tmp_path: Path
) -> None:
    saved, tested = save_training(tmp_path)
    page = pages.get(f"/runs/{saved.run_id}?step=1").text
    assert "2 rollouts found" in page
    assert 'name="step" value="1"' in page
    assert "/rollouts/3.0" in page
    assert "/rollouts/1.0" not in page
    assert "`much` is not a range of steps" in pages.get(f"/runs/{saved.run_id}?step=much").text
    assert 'name="step"' not in pages.get(f"/runs/{tested.run_id}").text


def test_a_training_on_several_environments_shows_each(pages: TestClient, tmp_path: Path) -> None:
    saved, tested = save_training(tmp_path, environments=("wordle", "letters"))
    page = pages.get(f"/trainings/{saved.run_id}").text
    assert "wordle, letters with weights" in page
    assert "held out, letters ends at 0.5" in page
    assert "in training, wordle ends at 0.75" in page
    assert f'href="/runs/{saved.run_id}">All rollouts of wordle' in page
    other = next(word for word in page.split('"') if word.startswith("/runs/letters"))
    assert "All rollouts of letters" in page
    assert pages.get(other).status_code == 200
    assert pages.get(f"/runs/{tested.run_id}").status_code == 200
